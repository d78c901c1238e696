//! The container ID that stands for a network namespace. It is Go's, so that both tools manage the same attachments.

use sha2::{Digest as _, Sha512};

/// The absolute path that a path means in a working directory, by its text alone: links are not followed, as in Go.
pub(crate) fn absolute(path: &str, working_dir: &str) -> String {
    let joined = if path.starts_with('/') { path.to_owned() } else { format!("{working_dir}/{path}") };
    let mut steps = Vec::new();
    for step in joined.split('/') {
        match step {
            "" | "." => {}
            ".." => _ = steps.pop(),
            step => steps.push(step),
        }
    }
    format!("/{}", steps.join("/"))
}

/// `cnitool-` and the first ten bytes of the path's SHA-512 in hexadecimal.
pub(crate) fn container_id(absolute: &str) -> String {
    let digest = Sha512::digest(absolute);
    let start = digest.iter().take(10).fold(0_u128, |start, byte| start << 8 | u128::from(*byte));
    format!("cnitool-{start:020x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_made_absolute_by_its_text() {
        for (path, expected) in [
            ("/run/netns/t", "/run/netns/t"),
            ("./t", "/home/dir/t"),
            ("t/", "/home/dir/t"),
            ("../../t", "/t"),
            ("../../../../t", "/t"),
            ("/run//netns/./x/../t", "/run/netns/t"),
            ("/", "/"),
            ("..", "/home"),
        ] {
            assert_eq!(absolute(path, "/home/dir"), expected, "{path}");
        }
        assert_eq!(absolute("t", "/"), "/t");
    }

    #[test]
    fn the_id_is_gos() {
        // printf %s /run/netns/t | sha512sum | cut -c1-20
        assert_eq!(container_id("/run/netns/t"), "cnitool-51165886969c747c11b1");
        assert_eq!(container_id("/"), "cnitool-5c86f0344ed249425c8a");
    }
}
