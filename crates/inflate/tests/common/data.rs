//! Bytes of many kinds.

/// Pseudorandom numbers: the high bits of a linear congruential generator.
pub(crate) fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    })
}

/// Contents by name: compressible or not, with near or far repetitions.
pub(crate) fn kinds(len: usize) -> Vec<(&'static str, Vec<u8>)> {
    let random: Vec<u8> = noise(1).map(|n| n as u8).take(len).collect();
    let words = [
        "label", "feature", "value", "0.25", "click", ",", "\n", "2026",
    ];
    let text = noise(2).flat_map(|n| words[n as usize % words.len()].bytes());
    let floats = noise(3).flat_map(|n| (n as f32 / 2e9 - 0.5).to_le_bytes());
    let varints = noise(4).map(|n| (n % 7) as u8 * 2 + if n % 64 == 0 { 128 } else { 0 });
    // Repetitions at a distance of 32,768 bytes, with a few other bytes.
    let mut far = random.clone();
    for at in 32_768..len {
        far[at] = if random[at] < 8 {
            random[at]
        } else {
            far[at - 32_768]
        };
    }
    // Long and short runs with periods of 1 to 40 bytes.
    let mut periodic = Vec::new();
    let mut numbers = noise(5);
    while periodic.len() < len {
        let mut next = || numbers.next().unwrap_or(0) as usize;
        let (period, times) = (1 + next() % 40, 1 + next() % 30);
        let once: Vec<u8> = (0..period).map(|_| next() as u8).collect();
        periodic.extend(once.repeat(times));
    }
    periodic.truncate(len);
    // Fibonacci frequencies, which give the longest words.
    let mut skewed = Vec::new();
    let (mut a, mut b) = (1, 1);
    for symbol in 0..24u8 {
        skewed.extend(vec![symbol.wrapping_mul(11); a]);
        (a, b) = (b, a + b);
    }
    let order = noise(6).map(|n| skewed[n as usize % skewed.len()]);
    vec![
        ("nothing", vec![]),
        ("one byte", vec![7]),
        ("zeros", vec![0; len]),
        ("random", random),
        ("text", text.take(len).collect()),
        ("floats", floats.take(len).collect()),
        ("varints", varints.take(len).collect()),
        ("far", far),
        ("periodic", periodic),
        ("skewed", order.take(len).collect()),
    ]
}

/// Streams of `bytes` by each level of libdeflate and of zlib.
pub(crate) fn compressed(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for level in 0..=12 {
        let level = libdeflater::CompressionLvl::new(level).expect("a level");
        let mut compressor = libdeflater::Compressor::new(level);
        let mut payload = vec![0; compressor.deflate_compress_bound(bytes.len())];
        let len = compressor
            .deflate_compress(bytes, &mut payload)
            .expect("enough room");
        payload.truncate(len);
        all.push((format!("libdeflate {level:?}"), payload));
    }
    for level in 0..=9 {
        let mut compressor = flate2::Compress::new(flate2::Compression::new(level), false);
        let mut payload = Vec::with_capacity(bytes.len() * 2 + 1000);
        let finish = flate2::FlushCompress::Finish;
        let status = compressor
            .compress_vec(bytes, &mut payload, finish)
            .expect("compressed");
        assert_eq!(status, flate2::Status::StreamEnd);
        all.push((format!("zlib {level}"), payload));
    }
    all
}
