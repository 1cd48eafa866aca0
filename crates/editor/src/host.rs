//! The interface to the program around a session: it reads files that are not open in the editor.

use ppl::{Files, Loader};

/// A program that comes with Parabench.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name without `@`.
    pub name: String,
    /// One line on it.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Programs include it; by itself it does nothing.
    pub is_library: bool,
}

/// Reads files and embedded programs.
pub trait Host {
    /// A loader of the texts that the program called `root` includes.
    fn loader(&self, root: &str) -> Box<dyn Loader>;

    /// Reads files of data beside the program called `root`.
    fn files(&self, root: &str) -> Files;

    /// The programs that come with Parabench.
    fn programs(&self) -> Vec<Program>;

    /// The name of the program at an address: for a file its path.
    fn name_of(&self, uri: &str) -> String {
        match uri.strip_prefix("file://") {
            Some(path) => decode_percent(path),
            None => uri.strip_prefix(EMBEDDED).unwrap_or(uri).to_string(),
        }
    }

    /// The address of the program with a name: the inverse of [`Host::name_of`].
    fn uri_of(&self, name: &str) -> String {
        match name.starts_with('@') {
            true => format!("{EMBEDDED}{name}"),
            false => format!("file://{}", encode_percent(name)),
        }
    }
}

/// Begins the address of a program that comes with Parabench.
pub(crate) const EMBEDDED: &str = "parabench:";

fn decode_percent(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn encode_percent(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let encode = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Host for Nothing {
        fn loader(&self, _: &str) -> Box<dyn Loader> {
            Box::new(ppl::source::NoIncludes)
        }

        fn files(&self, _: &str) -> Files {
            Box::new(|_| Err("there is none".into()))
        }

        fn programs(&self) -> Vec<Program> {
            Vec::new()
        }
    }

    #[test]
    fn names_and_addresses_are_inverse() {
        for name in ["/a/b.ppl", "/a b/ü%.ppl", "@stress", "@lib/temporal"] {
            assert_eq!(Nothing.name_of(&Nothing.uri_of(name)), name);
        }
        assert_eq!(Nothing.uri_of("/a b"), "file:///a%20b");
        assert_eq!(Nothing.name_of("file:///c%3A/x%2"), "/c:/x%2");
    }
}
