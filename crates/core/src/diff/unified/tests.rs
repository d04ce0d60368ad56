use std::convert::Infallible;

use proptest::prelude::*;

use super::*;

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn change(start: u64, old: &str, new: &str) -> LineChange {
    LineChange { start: LineNumber::new(start).unwrap(), old: lines(old), new: lines(new) }
}

fn diff_within(old: &str, new_unterminated: bool, changes: &[LineChange], limit: usize) -> String {
    let all = lines(old);
    let open = !old.is_empty() && !old.ends_with('\n');
    let result = unified(
        DiffFile { path: "a/x", unterminated: open },
        DiffFile { path: "b/x", unterminated: new_unterminated },
        all.len() as u64,
        changes,
        limit,
        |range| {
            assert!(!range.is_empty(), "no lines are asked for");
            let (start, end) = (range.start().index(), range.end());
            Ok::<_, Infallible>(all[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()].to_vec())
        },
    );
    let Ok(text) = result;
    text
}

fn check(old: &str, changes: &[LineChange]) -> String {
    diff_within(old, false, changes, usize::MAX)
}

fn numbered(count: usize) -> String {
    (1..=count).fold(String::new(), |text, n| text + &n.to_string() + "\n")
}

#[test]
fn one_line_of_a_replaced_block_shows_alone() {
    let changes = [change(3, "3\n4\n5\n6\n7\n", "3\n4\nfive\n6\n7\n")];
    insta::assert_snapshot!(check(&numbered(10), &changes), @r"
    --- a/x
    +++ b/x
    @@ -2,7 +2,7 @@
     2
     3
     4
    -5
    +five
     6
     7
     8
    ");
}

#[test]
fn hunks_that_touch_are_one() {
    let changes = [change(1, "1\n", ""), change(8, "8\n", "VIII\n"), change(16, "", "new\n")];
    insta::assert_snapshot!(check(&numbered(30), &changes), @r"
    --- a/x
    +++ b/x
    @@ -1,11 +1,10 @@
    -1
     2
     3
     4
     5
     6
     7
    -8
    +VIII
     9
     10
     11
    @@ -13,6 +12,7 @@
     13
     14
     15
    +new
     16
     17
     18
    ");
}

#[test]
fn a_missing_final_newline_is_told() {
    insta::assert_snapshot!(diff_within("a\nb", true, &[change(1, "a\n", "A\n")], 999), @r"
    --- a/x
    +++ b/x
    @@ -1,2 +1,2 @@
    -a
    +A
     b
    \ No newline at end of file
    ");
    insta::assert_snapshot!(diff_within("a\nb", false, &[change(3, "", "c\n")], 999), @r"
    --- a/x
    +++ b/x
    @@ -1,2 +1,3 @@
     a
    -b
    \ No newline at end of file
    +b
    +c
    ");
    insta::assert_snapshot!(diff_within("a\n", true, &[], 999), @r"
    --- a/x
    +++ b/x
    @@ -1 +1 @@
    -a
    +a
    \ No newline at end of file
    ");
}

#[test]
fn empty_sides() {
    insta::assert_snapshot!(check("", &[change(1, "", "a\n")]), @r"
    --- a/x
    +++ b/x
    @@ -0,0 +1 @@
    +a
    ");
    insta::assert_snapshot!(check("a\nb\n", &[change(1, "a\nb\n", "")]), @r"
    --- a/x
    +++ b/x
    @@ -1,2 +0,0 @@
    -a
    -b
    ");
    assert_eq!(check("a\nb\n", &[change(1, "a\n", "a\n")]), "");
    insta::assert_snapshot!(check("a\nb\n", &[change(1, "a\n", "A\n"), change(2, "b\n", "B\n")]), @r"
    --- a/x
    +++ b/x
    @@ -1,2 +1,2 @@
    -a
    -b
    +A
    +B
    ");
    assert_eq!(check("a\n", &[]), "");
}

#[test]
fn a_long_diff_is_cut_at_a_line() {
    let changes = [change(1, "1\n2\n3\n", "one\ntwo\nthree\n")];
    insta::assert_snapshot!(diff_within(&numbered(5), false, &changes, 40), @r"
    --- a/x
    +++ b/x
    @@ -1,5 +1,5 @@
    -1
    -2
    … 6 more lines
    ");
    let long = change(1, &numbered(2001), &numbered(2001).replace("7\n", "8\n"));
    let text = check(&numbered(2001), &[long]);
    assert_eq!(text.lines().filter(|line| line.starts_with('-')).count(), 2002);
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn long_sides_are_replaced_whole() {
    let side = |line: &str, many: usize| format!("same\n{}", line.repeat(many - 1));
    let compared = |old: &str, new: &str| {
        let diff = check(old, &[change(1, old, new)]);
        diff.lines().any(|row| row == " same")
    };
    let most = COMPARED_LINES;
    assert!(compared(&side("old\n", most), &side("new\n", most)));
    assert!(!compared(&side("old\n", most + 1), &side("new\n", 2)));
    assert!(!compared(&side("old\n", 2), &side("new\n", most + 1)));
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn no_more_pairs_of_lines_are_compared_than_there_is_time_for() {
    let side = |line: &str, many: usize| format!("same\n{}", line.repeat(many - 1));
    let many = COMPARED_LINES;
    let old = side("old\n", many).repeat(8) + &side("old\n", 2);
    let starts = (0..9).map(|place| u64::try_from(place * many).unwrap() + 1);
    let changes: Vec<LineChange> = starts
        .zip([many; 8].into_iter().chain([2]))
        .map(|(start, many)| change(start, &side("old\n", many), &side("new\n", many)))
        .collect();
    let diff = check(&old, &changes);
    let found: Vec<&str> = diff.lines().filter(|row| row.ends_with("same")).collect();
    // The ninth change is replaced whole.
    assert_eq!(found, [&[" same"; 8], ["-same", "+same"].as_slice()].concat());
}

#[test]
fn of_lines_that_are_left_out_no_text_is_asked_for() {
    let changes = [change(10, "10\n", "X\n"), change(30, "30\n", "XXX\n")];
    let asked_within = |limit: usize| {
        let mut asked = Vec::new();
        let side = DiffFile { path: "x", unterminated: false };
        let result = unified(side, side, 40, &changes, limit, |range| {
            asked.push((range.start().get(), range.end()));
            Ok::<_, Infallible>(Vec::new())
        });
        assert!(result.is_ok());
        asked
    };
    assert_eq!(asked_within(usize::MAX), [(7, 9), (11, 13), (27, 29), (31, 33)]);
    assert_eq!(asked_within(0), []);
}

#[test]
fn a_hostile_path_stays_on_its_line() {
    insta::assert_snapshot!(quoted("a\n+++ \"b\\\u{1}\r\t"), @r#""a\n+++ \"b\\\001\r\t""#);
    assert_eq!(quoted("/é/b.rs"), "/é/b.rs");
}

/// Applies a diff as `patch` would, trusting nothing but the old text and the hunks.
fn patched(old: &str, diff: &str) -> String {
    let all = lines(old);
    let mut new: Vec<String> = Vec::new();
    let mut at = 0;
    let mut open = !old.is_empty() && !old.ends_with('\n');
    let mut ended = false;
    let mut last_sign = ' ';
    for row in diff.lines().skip(2) {
        if let Some(header) = row.strip_prefix("@@ -") {
            let (start, rest) = header.split_once([' ', ',']).unwrap();
            let start: usize = start.parse().unwrap();
            let empty = header.contains(',') && rest.starts_with("0 ");
            let start = if empty { start } else { start - 1 };
            new.extend_from_slice(&all[at..start]);
            at = start;
            let added: usize =
                header.split_once('+').unwrap().1.split([',', ' ']).next().unwrap().parse().unwrap();
            let gone_all = header.contains(",0 @@");
            assert_eq!(added, if gone_all { new.len() } else { new.len() + 1 });
            continue;
        }
        let (sign, text) = row.split_at(1);
        assert!(!ended || sign == "-", "the new text goes on behind a line without a terminator: {diff}");
        match sign {
            " " | "-" => {
                assert_eq!(all[at], text);
                at += 1;
                if sign == " " {
                    new.push(text.to_owned());
                }
                if at == all.len() && !old.ends_with('\n') && sign == "-" {
                    open = false;
                }
            }
            "+" => new.push(text.to_owned()),
            "\\" => {
                open = last_sign != '-';
                ended = open;
            }
            other => panic!("{other}"),
        }
        last_sign = if sign == "\\" { last_sign } else { sign.chars().next().unwrap() };
    }
    new.extend_from_slice(&all[at..]);
    let mut text = new.join("\n");
    if !new.is_empty() && !open {
        text.push('\n');
    }
    text
}

/// Makes an old text, the changes cut from it, and the new text.
fn case() -> impl Strategy<Value = (String, Vec<LineChange>, String)> {
    let line = "[ab]{0,2}";
    let lines = prop::collection::vec(line, 0..40);
    let cuts = prop::collection::vec((0..12_usize, 0..4_usize, prop::collection::vec(line, 0..5)), 0..6);
    (lines, cuts, any::<bool>(), any::<bool>()).prop_map(|(old, cuts, old_open, new_open)| {
        let (mut changes, mut new, mut at) = (Vec::new(), Vec::new(), 0);
        for (skip, take, with) in cuts {
            let start = (at + skip).min(old.len());
            let end = (start + take).min(old.len());
            new.extend_from_slice(&old[at..start]);
            new.extend_from_slice(&with);
            let gone = old[start..end].to_vec();
            changes.push(LineChange { start: LineNumber::from_index(start as u64), old: gone, new: with });
            at = end;
        }
        new.extend_from_slice(&old[at..]);
        (join(&old, old_open), changes, join(&new, new_open))
    })
}

fn join(lines: &[String], open: bool) -> String {
    match lines.last() {
        // A last line that is empty and has no terminator is not a line.
        Some(last) if open && !last.is_empty() => lines.join("\n"),
        Some(_) => lines.join("\n") + "\n",
        None => String::new(),
    }
}

fn is_open(text: &str) -> bool {
    !text.is_empty() && !text.ends_with('\n')
}

#[test]
fn the_last_line_goes_and_the_one_before_loses_its_terminator() {
    let old = "\n".repeat(25) + "a\na";
    let changes = [change(12, "\n", ""), change(15, "\n\n\n", ""), change(27, "a", "")];
    let diff = diff_within(&old, true, &changes, usize::MAX);
    assert_eq!(patched(&old, &diff), "\n".repeat(21) + "a", "{diff}");
}

/// Tries every short beginning and end of a text, each with every small change, both next to each other and
/// far apart.
#[test]
fn every_small_diff_makes_the_new_text() {
    let texts: [&[&str]; 7] = [&[], &[""], &["a"], &["", ""], &["", "a"], &["a", ""], &["a", "a"]];
    let texts = texts.map(|lines| lines.iter().map(ToString::to_string).collect::<Vec<_>>());
    let mut parts = Vec::new();
    for (old, new) in texts.iter().flat_map(|old| texts[..3].iter().map(move |new| (old, new))) {
        for start in 0..=old.len() {
            parts.extend((start..=old.len()).map(|end| (old, start..end, new)));
        }
    }
    for ((head, above, first), (tail, below, second)) in parts
        .iter()
        .flat_map(|head| parts.iter().map(move |tail| (head, tail)))
        .step_by(if cfg!(miri) { 997 } else { 1 })
    {
        for (apart, old_open, new_open) in
            (0..8).map(|bits| (if bits & 1 == 0 { 0 } else { 7 }, bits & 2 == 0, bits & 4 == 0))
        {
            let between = vec!["b".to_owned(); apart];
            let old = [head, &between[..], tail].concat();
            let (start, end) = (head.len() + apart + below.start, head.len() + apart + below.end);
            let change = |lines: &Range<usize>, new: &[String]| LineChange {
                start: LineNumber::from_index(lines.start as u64),
                old: old[lines.clone()].to_vec(),
                new: new.to_vec(),
            };
            let changes = [change(above, first), change(&(start..end), second)];
            let new = [&old[..above.start], first, &old[above.end..start], second, &old[end..]].concat();
            let (old, new) = (join(&old, old_open), join(&new, new_open));
            let diff = diff_within(&old, is_open(&new), &changes, usize::MAX);
            assert_eq!(patched(&old, &diff), new, "{old:?} by {changes:?}:\n{diff}");
        }
    }
}

proptest! {
    #[test]
    fn the_diff_makes_the_new_text((old, changes, new) in case()) {
        let diff = diff_within(&old, is_open(&new), &changes, usize::MAX);
        prop_assert_eq!(patched(&old, &diff), new);
    }

    #[test]
    fn a_cut_diff_counts_what_is_missing((old, changes, new) in case(), limit in 0..300_usize) {
        let whole = diff_within(&old, is_open(&new), &changes, usize::MAX);
        let cut = diff_within(&old, is_open(&new), &changes, limit);
        let kept = cut.split_once('…').map_or(cut.as_str(), |(kept, _)| kept);
        prop_assert!(whole.starts_with(kept) && kept.len() <= limit);
        let hidden = whole.lines().count() - kept.lines().count();
        let marker = format!("… {hidden} more line");
        prop_assert!(hidden == 0 || cut[kept.len()..].starts_with(&marker));
        let exactly = diff_within(&old, is_open(&new), &changes, whole.len());
        prop_assert_eq!(exactly, whole);
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri starts no processes")]
#[expect(clippy::disallowed_methods, reason = "patch(1) wants a file of its own; nothing of ours is opened")]
fn patch_takes_it() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let folder = std::env::temp_dir().join(format!("mte-diff-{}", std::process::id()));
    let cases = [
        (
            numbered(40),
            vec![change(1, "1\n", ""), change(20, "20\n21\n", "x\n21\ny\n"), change(41, "", "z\n")],
            "\n",
        ),
        ("a\nb".to_owned(), vec![change(3, "", "c\n")], ""),
        (numbered(3), vec![change(1, "1\n2\n3\n", "")], "\n"),
    ];
    std::fs::create_dir_all(&folder).unwrap();
    for (old, changes, end) in cases {
        let file = folder.join("old name");
        std::fs::write(&file, &old).unwrap();
        let all = lines(&old);
        let result = unified(
            DiffFile { path: "old name", unterminated: is_open(&old) },
            DiffFile { path: "old name", unterminated: end.is_empty() },
            all.len() as u64,
            &changes,
            usize::MAX,
            |range| {
                let (start, end) = (range.start().index(), range.end());
                Ok::<_, Infallible>(
                    all[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()].to_vec(),
                )
            },
        );
        let Ok(diff) = result;
        let mut patch = Command::new("patch");
        patch.args(["-p0", "-F0"]).current_dir(&folder);
        let Ok(mut child) = patch.stdin(Stdio::piped()).stdout(Stdio::null()).spawn() else {
            eprintln!("skipped: there is no patch(1) here");
            break;
        };
        child.stdin.take().unwrap().write_all(diff.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success(), "{diff}");
        let after = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(after, patched(&old, &diff));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
