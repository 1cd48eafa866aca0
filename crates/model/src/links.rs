//! Symbolic links: the text that a link holds, and the path that it leads to.

/// The text of a link that leads from its own directory to a path, both as seen from one directory:
/// `../lib/b` of `bin/a` to `lib/b`.
pub fn text_of_link(link: &[u8], target: &[u8]) -> Vec<u8> {
    let parts = |path: &[u8]| -> Vec<Vec<u8>> {
        let parts = path.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
        parts.map(<[u8]>::to_vec).collect()
    };
    let (mut above, target) = (parts(link), parts(target));
    above.pop();
    let common = above.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let up = above[common..].iter().map(|_| b"..".to_vec());
    let text = up.chain(target[common..].iter().cloned()).collect::<Vec<_>>().join(&b'/');
    if text.is_empty() { b".".to_vec() } else { text }
}

/// The path that a link with this text leads to; the reverse of [`text_of_link`].
pub fn target_of_link(link: &[u8], text: &[u8]) -> Vec<u8> {
    let above = &link[..link.iter().rposition(|byte| *byte == b'/').unwrap_or(0)];
    let mut path: Vec<&[u8]> = Vec::new();
    for part in [above, text].into_iter().flat_map(|path| path.split(|byte| *byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    if path.is_empty() { b".".to_vec() } else { path.join(&b'/') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_links_lead_to_their_targets() {
        for (link, target, text) in [
            ("l", "f", "f"),
            ("d/l", "d/f", "f"),
            ("bin/a", "lib/b", "../lib/b"),
            ("a/b/l", "a/c/f", "../c/f"),
            ("a/b/l", "a", ".."),
            ("a/b/l", "a/b", "."),
            ("l", ".", "."),
            ("a/l", "a/b/l", "b/l"),
        ] {
            let (link, target) = (link.as_bytes(), target.as_bytes());
            assert_eq!(text_of_link(link, target), text.as_bytes());
            assert_eq!(target_of_link(link, text.as_bytes()), target);
        }
    }
}
