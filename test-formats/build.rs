//! Takes the code of the formats out of `docs/adding-a-format.md`, so that what the page shows is what
//! is compiled.

use std::path::Path;
use std::{env, fs};

const PAGE: &str = "../docs/adding-a-format.md";

fn main() {
    println!("cargo::rerun-if-changed={PAGE}");
    let page = fs::read_to_string(PAGE).expect("the page is in the repository");
    let folder = env::var_os("OUT_DIR").expect("Cargo sets it");
    for title in ["toy.rs", "columns.rs"] {
        let code = code(&page, title);
        assert!(!code.is_empty(), "{PAGE} has no block of {title}");
        fs::write(Path::new(&folder).join(title), code).expect("the folder is Cargo's");
    }
}

/// The blocks of `page` with this title, one after another.
fn code(page: &str, title: &str) -> String {
    let fence = format!("```rust title=\"{title}\"");
    let mut code = String::new();
    let mut lines = page.lines();
    while lines.any(|line| line == fence) {
        for line in lines.by_ref().take_while(|line| *line != "```") {
            code += line;
            code += "\n";
        }
        code += "\n";
    }
    code
}
