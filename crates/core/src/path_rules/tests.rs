use globset::GlobBuilder;
use proptest::prelude::*;

use super::braces::{Alternatives, alternatives};
use super::wildmatch::{matches, run};
use super::{BadGlobs, MOST_GLOB_BYTES, MOST_GLOBS, Notation, PathRules};

/// Returns the verdict of rules on a path.
fn verdict(rules: &PathRules, path: &str, is_directory: bool) -> Option<bool> {
    rules.verdict(path, is_directory, &mut || true)
}

/// Returns the verdict of the lines on a path, a directory if it ends in a slash: `+` is ignored, `-` is not,
/// ` ` is not named.
fn said(lines: &str, notation: Notation, path: &str) -> char {
    let rules = PathRules::of_file(lines.as_bytes(), notation);
    let plain = path.strip_suffix('/').unwrap_or(path);
    verdict(&rules, plain, plain != path).map_or(' ', |is_plain| if is_plain { '+' } else { '-' })
}

#[test]
fn what_a_line_says() {
    let git = |lines: &str, paths: &[&str]| {
        paths.iter().map(|path| said(lines, Notation::Git, path)).collect::<String>()
    };
    for (lines, paths, verdicts) in [
        ("a", ["a", "x/a", "a/", "ab"], "+++ "),
        ("a/", ["a", "a/", "x/a/", "x/a"], " ++ "),
        ("/a", ["a", "a/", "x/a", "a/x"], "++  "),
        ("a/b", ["a/b", "x/a/b", "a/b/", "b"], "+ + "),
        ("**/a", ["a", "x/a", "x/y/a", "xa"], "+++ "),
        ("a/**", ["a", "a/b", "a/b/c", "b/a/c"], " ++ "),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b", "a/xb"], "+++ "),
        // As git has it: what stands before the first star is compared by itself, and the stars then begin a
        // name.
        ("a**/b", ["a/b", "ax/y/b", "ab", "x/a/b"], "+++ "),
        ("*.rs\n!c.rs", ["a.rs", "c.rs", "x/c.rs", "c.rs/"], "+---"),
        ("*.rs\n!x.b.rs\n*.b.rs", ["a.b.rs", "x.b.rs", "a.rs", ".rs"], "++++"),
        ("[[:digit:]]", ["1", "a", "x/2", "12"], "+ + "),
        ("[^a]", ["a", "b", "x/b", "bb"], " ++ "),
        ("[!a-c]x", ["ax", "dx", "cx", "/x"], " +  "),
        ("[]-]", ["]", "-", "a", "]-"], "++  "),
        ("{a,b}", ["a", "b", "{a,b}", "ab"], "  + "),
        ("a \nb\\ \nc\t", ["a", "b ", "c\t", "c"], "+++ "),
        ("\\!a\n\\#b\n#c", ["!a", "#b", "#c", "c"], "++  "),
        ("?", ["a", "é", "ab", "x/a"], "+  +"),
        ("[", ["[", "a", "[a", "]"], "    "),
        ("[[:foo:]a]", ["a", "o]", ":", "foo"], "    "),
        ("a\\", ["a", "a\\", "x", "\\"], "    "),
        ("a\r\n/b\0c\r", ["a", "b", "b\0c", "x/b"], "++  "),
        ("\u{feff}a\n*", ["a", "!", "x/y/", "é"], "++++"),
        ("x/*/y", ["x/a/y", "x/y", "x/a/b/y", "x//y"], "+  +"),
        ("*.b.rs", ["x.b.rs", "x/a.b.rs", "b.rs", "a.rs"], "++  "),
        ("*.rs/", ["a.rs/", "x/a.rs/", "a.rs", "a.rsx/"], "++  "),
        ("*[ab].rs", ["xa.rs", "x/b.rs", "c.rs", "x[ab].rs"], "++  "),
        // A name at least stands for `**` where the slash behind it has a backslash.
        ("x/**\\/b", ["x/b", "x/y/b", "x/y/z/b", "x/yb"], " ++ "),
        ("[!a]", ["!", "[", "a", "]"], "++ +"),
        ("[\\]a]", ["]", "a", "\\", "\\a]"], "++  "),
        ("[[]", ["[", "]", "[]", "[[]"], "+   "),
        ("[a-\\c]", ["a", "b", "c", "\\"], "+++ "),
        // The end of a range begins none.
        ("[a-c-e]", ["b", "-", "d", "e"], "++ +"),
        ("a\\   \nb  \n\\ \\c  ", ["a ", "a", "b", " c"], "+ ++"),
    ] {
        assert_eq!(git(lines, &paths), verdicts, "{lines:?} {paths:?}");
    }
    let braces = |lines: &str, path: &str| said(lines, Notation::Braces, path);
    assert_eq!((braces("*.{ts,tsx}", "a.tsx"), braces("*.{ts,tsx}", "a.t")), ('+', ' '));
    assert_eq!((braces("{a,{b,c}d}", "cd"), braces("x{,y}", "x"), braces("[{]", "{")), ('+', '+', '+'));
    assert_eq!((braces("{a,b\nc", "{a,b"), braces("{a,b\nc", "c")), (' ', '+'), "such a line is passed over");
}

#[test]
fn what_braces_stand_for() {
    let written = |glob: &str| match alternatives(glob.as_bytes(), &mut 1_000).unwrap() {
        Alternatives::Are(all) => all.into_iter().map(|one| String::from_utf8(one).unwrap()).collect(),
        Alternatives::TooMany => vec!["too many".to_owned()],
    };
    for (glob, wanted) in [
        ("a{b,c}d", &["abd", "acd"][..]),
        ("{a,{b,c}}{d,}", &["ad", "a", "bd", "b", "cd", "c"]),
        // What is behind a backslash is no brace, and no comma.
        (r"\{a,b\}", &[r"\{a,b\}"]),
        (r"{a\,b,c}", &[r"a\,b", "c"]),
        // Two stars that come together are of one name; two that stand together are as they stand.
        ("{a*,b}*", &["a*", "b*"]),
        ("a*{*.b,c}", &["a*.b", "a*c"]),
        ("**{/a,/b}", &["**/a", "**/b"]),
        ("a/{**,b}", &["a/**", "a/b"]),
        ("{**,a}/b", &["**/b", "a/b"]),
        (r"{\*,a}*", &[r"\**", "a*"]),
        (r"{\\*,a}*", &[r"\\*", "a*"]),
    ] {
        assert_eq!(written(glob), wanted, "{glob}");
    }
}

#[test]
fn an_alternative_without_a_byte_is_written_too() {
    let written = |left: usize| {
        let mut left = left;
        matches!(alternatives(b"{,,}", &mut left), Ok(Alternatives::Are(all)) if all.len() == 3)
    };
    assert!(written(3) && !written(2));
}

#[test]
fn named_classes_are_those_of_ascii_as_git_has_them() {
    // One byte of each kind, and what each class holds of them.
    let bytes = b"aGZ5_ \t\x0b\x7f";
    for (name, held) in [
        ("alnum", "aGZ5"),
        ("alpha", "aGZ"),
        ("blank", " \t"),
        ("cntrl", "\t\x0b\x7f"),
        ("digit", "5"),
        ("graph", "aGZ5_"),
        ("lower", "a"),
        ("print", "aGZ5_ "),
        ("punct", "_"),
        ("space", " \t"),
        ("upper", "GZ"),
        ("xdigit", "a5"),
    ] {
        let class = format!("[[:{name}:]]");
        let found: Vec<u8> =
            bytes.iter().copied().filter(|byte| matches(class.as_bytes(), &[*byte])).collect();
        assert_eq!(String::from_utf8_lossy(&found), held, "{class}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn globs_that_cannot_be_taken() {
    let said = |globs: &[&str]| PathRules::of_globs(globs).unwrap_err().to_string();
    let said = [
        said(&["a", "[z-a]"]),
        said(&["[a"]),
        said(&["*.{rs"]),
        said(&["a}"]),
        said(&["a\\"]),
        said(&[&"?".repeat(3_000_000)]),
        said(&["a"; MOST_GLOBS + 1]),
        said(&[&"{a,b}".repeat(30)]),
        said(&[&("{".repeat(8_000) + &"}".repeat(8_000))]),
        said(&[&"a".repeat(5_000)]),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    a glob that cannot be read: invalid range; 'z' > 'a'
    a glob that cannot be read: unclosed character class; missing ']'
    a glob that cannot be read: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)
    a glob that cannot be read: unopened alternate group; missing '{' (maybe escape '}' with '[}]'?)
    a glob that cannot be read: dangling '\'
    globs of 3000000 bytes, and the limit is 16384
    257 globs, and the limit is 256
    globs whose braces stand for more bytes than the limit of 262144
    globs whose braces stand for more bytes than the limit of 262144
    globs whose braces stand for more bytes than the limit of 262144
    ");
    assert!(PathRules::of_globs(&["[[:alpha:]]"]).is_ok());
    assert!(matches!(PathRules::of_globs(&["a", "{"]), Err(BadGlobs::Unreadable(1, _))));
    let long = "a".repeat(MOST_GLOB_BYTES / 4);
    assert!(PathRules::of_globs(&[long.as_str(); 4]).is_ok());
    assert!(PathRules::of_globs(&["a"; MOST_GLOBS]).is_ok());
}

#[test]
fn what_follows_a_backslash_means_itself() {
    for (glob, path) in [("\\[a", "[a"), ("b\\[a", "b[a"), ("\\\\", "\\"), ("a\\*", "a*")] {
        assert!(PathRules::of_globs(&[glob]).is_ok() && matches(glob.as_bytes(), path.as_bytes()), "{glob}");
    }
    assert!(!matches(b"a\\*", b"ab"));
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn what_is_too_long_in_a_file_is_told() {
    let of = |text: &str, notation| PathRules::of_file(text.as_bytes(), notation);
    let long = format!("a\n{}\nb", "?".repeat(5_000));
    let rules = of(&long, Notation::Git);
    assert!(rules.is_cut() && verdict(&rules, "b", false) == Some(true));
    assert!(of(&"{a,b}".repeat(30), Notation::Braces).is_cut());
    assert!(!of(&"{a,b}".repeat(30), Notation::Git).is_cut());
    let many = "a\n".repeat(100_000);
    let weight = of(&many, Notation::Git).weight();
    assert!((1_000_000..2_500_000).contains(&weight), "{weight}");
}

#[test]
fn rules_are_none_or_negated_or_plain() {
    for (lines, is_empty, has_plain) in
        [("", true, false), ("#a\n\n", true, false), ("!a\n!b", false, false), ("!a\nb\n!c", false, true)]
    {
        let rules = PathRules::of_file(lines.as_bytes(), Notation::Git);
        assert_eq!((rules.is_empty(), rules.has_plain()), (is_empty, has_plain), "{lines:?}");
    }
}

#[test]
fn a_look_up_of_names_paths_and_endings_asks_nobody() {
    let lines: Vec<_> = (0..100).map(|number| format!("n{number}\nx/p{number}\n*.e{number}")).collect();
    let rules = PathRules::of_file(lines.join("\n").as_bytes(), Notation::Git);
    for (path, wanted) in [("y/n7", Some(true)), ("x/p7", Some(true)), ("y/z.e7", Some(true)), ("y/z", None)]
    {
        let mut asked = 0;
        let mut goes_on = || {
            asked += 1;
            true
        };
        assert_eq!((rules.verdict(path, false, &mut goes_on), asked), (wanted, 0), "{path}");
    }
}

#[test]
fn who_is_asked_can_stop_it() {
    let rules = PathRules::of_file("?a?\n".repeat(1_000).as_bytes(), Notation::Git);
    let mut asked = 0;
    let mut goes_on = || {
        asked += 1;
        asked < 10
    };
    assert_eq!(rules.verdict("b", false, &mut goes_on), None);
    assert_eq!(asked, 10);
    // Who lets it go on is asked at each sixteenth rule.
    let rules = PathRules::of_file(format!("?\n{}", "?a?\n".repeat(1_000)).as_bytes(), Notation::Git);
    let mut asked = 0;
    let mut goes_on = || {
        asked += 1;
        true
    };
    assert_eq!(rules.verdict("b", false, &mut goes_on), Some(true));
    assert_eq!(asked, 1_000 / 16);
}

/// Tries every way through a glob, one after the other.
fn naive(glob: &[u8], path: &[u8], begins_name: bool) -> bool {
    match glob {
        [] => path.is_empty(),
        [b'*', ..] => {
            let stars = glob.iter().take_while(|byte| **byte == b'*').count();
            let rest = &glob[stars..];
            if stars > 1 && begins_name && matches!(rest, [] | [b'/', ..]) {
                let Some((_, after)) = rest.split_first() else { return true };
                let below = (0..path.len()).filter(|at| path[*at] == b'/').map(|at| at + 1);
                return std::iter::once(0).chain(below).any(|at| naive(after, &path[at..], true));
            }
            let name = path.iter().take_while(|byte| **byte != b'/').count();
            (0..=name).any(|length| naive(rest, &path[length..], false))
        }
        [b'?', rest @ ..] => matches!(path, [first, ..] if *first != b'/') && naive(rest, &path[1..], false),
        [byte, rest @ ..] => path.first() == Some(byte) && naive(rest, &path[1..], *byte == b'/'),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 16 } else { 1_000 }))]

    #[test]
    fn every_way_through_a_glob_counts(glob in "([ab*?/]|\\*\\*|/\\*\\*/){0,8}", path in "[ab]{1,3}(/[ab]{1,3}){0,4}") {
        prop_assert_eq!(matches(glob.as_bytes(), path.as_bytes()), naive(glob.as_bytes(), path.as_bytes(), true));
    }

    /// Counts the steps: no glob takes more than its length times that of the path.
    #[test]
    fn the_time_is_that_of_the_lengths(
        glob in "(\\*a|\\*\\*/|a|/|\\*|\\?|[ab]{0,3}\\*){0,40}b?",
        path in "(a{1,20}/?){1,8}",
    ) {
        let mut steps = 0;
        run(glob.as_bytes(), path.as_bytes(), || steps += 1);
        prop_assert!(steps <= 2 * (glob.len() + 1) * (path.len() + 1), "{} {} {}", steps, glob.len(), path.len());
    }

    /// Compares the look-up of rules with trying each, from the last one on.
    #[test]
    fn the_last_rule_that_fits_decides(
        lines in prop::collection::vec("!?/?([ab]|\\*|\\.a|\\.b|\\?|a/){1,4}/?", 0..12),
        path in "([ab.]{1,4}/){0,2}[ab.]{1,4}",
        is_directory: bool,
    ) {
        let rules = PathRules::of_file(lines.join("\n").as_bytes(), Notation::Git);
        let alone = |line: &String| verdict(&PathRules::of_file(line.as_bytes(), Notation::Git), &path, is_directory);
        prop_assert_eq!(verdict(&rules, &path, is_directory), lines.iter().rev().find_map(alone));
    }

    /// Compares the globs of a request with globset, which ripgrep uses.
    #[test]
    fn globs_mean_what_they_mean_to_ripgrep(
        glob in "(\\*\\*/)?([ab*?]|\\[!?[a-c]{1,2}\\]|\\{[ab]{1,2},[bc*?]\\}|/){1,5}(/\\*\\*)?",
        path in "([abc]{1,3}/){0,3}[abc]{1,3}",
    ) {
        if glob.contains("//") || glob.contains("***") || glob.starts_with('/') || glob.ends_with('/') {
            return Ok(());
        }
        let ours = PathRules::of_globs(&[&glob]).unwrap();
        let mut theirs = if glob.contains('/') { glob.clone() } else { format!("**/{glob}") };
        if theirs.ends_with("/**") {
            theirs.push_str("/*");
        }
        // Within a name a negated class is no slash.
        let theirs = theirs.replace("[!", "[!/");
        let theirs = GlobBuilder::new(&theirs).literal_separator(true).build().unwrap().compile_matcher();
        prop_assert_eq!(verdict(&ours, &path, false).is_some(), theirs.is_match(&path), "{}", glob);
    }
}
