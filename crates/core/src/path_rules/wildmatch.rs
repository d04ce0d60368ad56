//! Matches a glob with a path, as git's `wildmatch` does where a slash counts ([`matches`](fn@matches)), and
//! reads what a `[…]` in it holds ([`class`]).
//!
//! Only the last of all stars is ever tried again, and the last of all `**/`: text between two of them is
//! best found where it first occurs. So the time is at most the length of the glob times that of the path.

use std::ops::RangeInclusive;

/// Tells whether a glob matches a whole path, byte by byte: `*`, `?` and `[…]` are of one name, `**` as a
/// whole name is of any number of names, and `\` takes the next byte as it is.
pub(super) fn matches(glob: &[u8], path: &[u8]) -> bool {
    run(glob, path, || {})
}

/// As [`matches`]; `count` is called at each step.
pub(super) fn run(glob: &[u8], path: &[u8], mut count: impl FnMut()) -> bool {
    let (mut at, mut to) = (0, 0);
    // The place in the glob behind the last star, and behind the last `**/`, each with the place in the path
    // at which it was tried.
    let mut star: Option<(usize, usize)> = None;
    let mut names: Option<(usize, usize)> = None;
    loop {
        count();
        let next = path.get(to).copied();
        let is_taken = match (glob.get(at), next) {
            (None, None) => return true,
            (None, Some(_)) => false,
            (Some(b'*'), _) => {
                let stars = Stars::at(glob, at);
                at = stars.end;
                match stars.after {
                    After::Nothing if stars.is_names => return true,
                    After::Slash(slash) if stars.is_names => {
                        (star, names) = (None, Some((at + slash, to)));
                        at += slash;
                        // What is spelled `**\/` takes one name at least.
                        slash == 1
                    }
                    After::Nothing => {
                        let rest = path.get(to..).unwrap_or_default();
                        if !rest.contains(&b'/') {
                            return true;
                        }
                        star = None;
                        false
                    }
                    _ => {
                        star = Some((at, to));
                        true
                    }
                }
            }
            (Some(b'?'), next) => {
                (at, to) = (at + 1, to + 1);
                next.is_some_and(|byte| byte != b'/')
            }
            (Some(b'['), next) => {
                let mut is_in = false;
                let found = class(glob, at, |items| is_in |= next.is_some_and(|byte| items.hold(byte)));
                let Some(found) = found else { return false };
                (at, to) = (found.end, to + 1);
                next.is_some_and(|byte| byte != b'/') && is_in != found.is_negated
            }
            (Some(byte), next) => {
                let escaped = usize::from(*byte == b'\\');
                let Some(byte) = glob.get(at + escaped) else { return false };
                (at, to) = (at + escaped + 1, to + 1);
                let is_same = next == Some(*byte);
                // A star matches within one name, which ends here.
                star = star.filter(|_| !is_same || *byte != b'/');
                is_same
            }
        };
        if is_taken {
            continue;
        }
        let longer = star.filter(|(_, tried)| path.get(*tried).is_some_and(|byte| *byte != b'/'));
        if let Some((after, tried)) = longer {
            (at, to) = (after, tried + 1);
            star = Some((at, to));
            continue;
        }
        star = None;
        let Some((after, tried)) = names else { return false };
        let Some(slash) = memchr::memchr(b'/', path.get(tried..).unwrap_or_default()) else { return false };
        (at, to) = (after, tried + slash + 1);
        names = Some((at, to));
    }
}

/// One or several stars in a row.
struct Stars {
    /// True if they are a whole name, and two at least.
    is_names: bool,
    end: usize,
    after: After,
}

/// The part of a glob that follows stars.
enum After {
    Nothing,
    /// A slash, of so many bytes: it may have a backslash before it.
    Slash(usize),
    Other,
}

impl Stars {
    fn at(glob: &[u8], start: usize) -> Self {
        let rest = glob.get(start..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| **byte == b'*').count();
        let after = match rest.get(count..).unwrap_or_default() {
            [] => After::Nothing,
            [b'/', ..] => After::Slash(1),
            [b'\\', b'/', ..] => After::Slash(2),
            _ => After::Other,
        };
        let begins_name = start.checked_sub(1).is_none_or(|before| glob.get(before) == Some(&b'/'));
        let is_names = count > 1 && begins_name && !matches!(after, After::Other);
        Self { is_names, end: start + count, after }
    }
}

/// A part of what a `[…]` holds.
pub(super) enum Items {
    /// Bytes from the first to the last.
    Range(RangeInclusive<u8>),
    /// A class of ASCII that POSIX names.
    Named(fn(&u8) -> bool),
}

impl Items {
    fn hold(&self, byte: u8) -> bool {
        match self {
            Self::Range(range) => range.contains(&byte),
            Self::Named(is_one) => is_one(&byte),
        }
    }
}

/// A `[…]`.
pub(super) struct Class {
    pub(super) is_negated: bool,
    /// The beginning of what follows it.
    pub(super) end: usize,
}

/// Reads the `[…]` that begins at a place, and hands out what it holds. `None` if it has no end, or has a
/// `[:name:]` of which POSIX knows nothing: git then has the whole glob match nothing.
pub(super) fn class(glob: &[u8], start: usize, mut item: impl FnMut(&Items)) -> Option<Class> {
    let mut at = start + 1;
    let is_negated = matches!(glob.get(at)?, b'!' | b'^');
    at += usize::from(is_negated);
    // The byte at which a range could begin, if a `-` follows.
    let mut before: Option<u8> = None;
    let mut is_first = true;
    loop {
        let byte = *glob.get(at)?;
        at += 1;
        if byte == b']' && !is_first {
            return Some(Class { is_negated, end: at });
        }
        is_first = false;
        let is_range = byte == b'-' && glob.get(at).is_some_and(|end| *end != b']');
        let byte = match (byte, before) {
            (b'-', Some(first)) if is_range => {
                at += usize::from(glob.get(at) == Some(&b'\\'));
                item(&Items::Range(first..=*glob.get(at)?));
                at += 1;
                before = None;
                continue;
            }
            (b'[', _) if glob.get(at) == Some(&b':') => {
                // It has to end in `:]`; else the bracket is one of the bytes.
                let rest = glob.get(at + 1..)?;
                let length = memchr::memchr(b']', rest)?;
                if let Some(name) = rest.get(..length).and_then(|name| name.strip_suffix(b":")) {
                    item(&Items::Named(named(name)?));
                    at += length + 2;
                    before = None;
                    continue;
                }
                byte
            }
            (b'\\', _) => {
                let escaped = *glob.get(at)?;
                at += 1;
                escaped
            }
            _ => byte,
        };
        item(&Items::Range(byte..=byte));
        before = Some(byte);
    }
}

fn named(name: &[u8]) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| matches!(byte, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        // Neither a vertical tab nor a form feed is one to git.
        b"space" => |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}
