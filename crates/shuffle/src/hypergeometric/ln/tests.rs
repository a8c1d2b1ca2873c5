use super::{ln, ln_near_one, phi, stirling_rest};

const UNIT: f64 = 1.0 / (1u64 << 53) as f64;

/// The error of `is`, in units of 2^-53 times its value.
fn units_off(is: f64, should: f64) -> f64 {
    (is - should).abs() / should.abs() / UNIT
}

#[test]
fn logarithms_are_exact_to_some_units() {
    for i in 1..20_000 {
        let i = f64::from(i);
        for x in [
            i / 10_000.0,
            1.0 + i * 1e-9,
            1.0 - i * 1e-12,
            i * 1e300,
            1e-300 / i,
        ] {
            if x != 1.0 {
                // The library function is within one unit.
                assert!(units_off(ln(x), x.ln()) < 11.0, "{x}");
            }
        }
    }
    assert_eq!(ln(1.0), 0.0);
}

#[test]
fn logarithms_near_one_are_exact_to_some_units() {
    for i in 1..=4_000 {
        for x in [
            f64::from(i) * 1e-4,
            f64::from(-i) * 7e-5,
            f64::from(i) * 1e-18,
        ] {
            assert!(units_off(ln_near_one(x), x.ln_1p()) < 7.0, "{x}");
        }
    }
}

#[test]
fn phi_is_exact_to_some_hundred_units() {
    for a in [1.0, 2.0, 15.0, 1_000.0, 1e6, 1e12, 1e18] {
        for i in 1..2_000 {
            let d = (a * f64::from(i) / 1_000.0).ceil();
            // For |t| above 1/16 the formula itself loses little.
            for d in [d, -d] {
                let t = d / a;
                if t.abs() > 1.0 / 16.0 && a + d >= 1.0 {
                    let should = a * ((1.0 + t) * t.ln_1p() - t);
                    let lost = 4.0 * (2.0 + t.abs()) / t.abs();
                    let off = units_off(phi(a, d), should);
                    assert!(off < 300.0 + lost, "{off} units at {a} {d}");
                }
            }
        }
    }
    // Below, only the first terms of the series matter.
    for t in [1e-5, -1e-5, 1e-7, 1e-9] {
        let (a, t): (f64, f64) = (1e15, t);
        let d = (a * t).round();
        let t = d / a;
        let should = a * t * t * (1.0 / 2.0 - t * (1.0 / 6.0 - t * (1.0 / 12.0 - t / 20.0)));
        assert!(units_off(phi(a, d), should) < 40.0, "{t}");
    }
    assert_eq!(phi(7.0, 0.0), 0.0);
}

#[test]
fn what_stirling_leaves_adds_up() {
    // ln gamma(z + 1) - ln gamma(z) = ln z, from the table into the series.
    for z in 1..200 {
        let z = f64::from(z);
        let step = (z + 0.5) * (1.0 / z).ln_1p() - 1.0;
        let rest = stirling_rest(z) - stirling_rest(z + 1.0);
        assert!((rest - step).abs() < 8.0 * z * UNIT, "{z}: {rest} {step}");
    }
    // gamma(1) = 1: the rest is 1 - ln(2 pi) / 2.
    let first = 1.0 - (2.0 * std::f64::consts::PI).ln() / 2.0;
    assert!((stirling_rest(1.0) - first).abs() < 4.0 * UNIT);
}
