//! A program that reads its stdin and writes it back: what the standard library's streams cost.
use std::io::{Read as _, Write as _};

fn main() -> std::io::Result<()> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    std::io::stdout().lock().write_all(&bytes)
}
