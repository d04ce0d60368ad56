//! Tests of paths of one file that are spelled differently, in the file's name or in the directories above.

use crate::access::patterns::Patterns;
use crate::access::policy::Policy;
use crate::access::roots::Roots;
#[cfg(target_os = "linux")]
use crate::tests::mounted::Mounted;
use crate::tests::world::World;

#[test]
fn no_spelling_of_a_name_gets_past_a_pattern() {
    let mut world = World::new();
    let patterns = ["caf\u{e9}.txt", "Stra\u{df}e/", "*.[k\u{e9}]ey"].map(str::to_owned);
    let policy = Policy::default().protecting(Patterns::new(&patterns).unwrap());
    world.workspace.roots = Roots::open_with(&[world.path("@/root")], policy).unwrap();
    // On a file system that tells the spellings apart, these are different files. They are protected
    // nevertheless: the directory may be shared with a system for which they are the same file.
    for name in
        ["caf\u{e9}.txt", "cafe\u{301}.txt", "CAFE\u{301}.TXT", "a/STRASSE/b", "a.\u{212a}ey", "a.e\u{301}ey"]
    {
        let path = format!("@/root/{name}");
        world.write(&path, "old\n");
        let refused = world.append(&[&path]);
        assert!(
            refused.iter().all(|one| one.starts_with("Path(Protected(Pattern(")),
            "{name:?}: {refused:?}"
        );
        assert_eq!(world.content(&path), "old\n");
    }
    world.write("@/root/cafe.txt", "old\n");
    assert_eq!(world.append(&["@/root/cafe.txt"]), ["[]"]);
}

/// On macOS, `/System/Volumes/Data/Users` and `/Users` are such paths: one directory with two paths, neither
/// of which is a link.
#[test]
#[cfg(target_os = "linux")]
fn a_root_is_entered_by_each_path_that_leads_to_it() {
    let world = World::new();
    world.write("@/root/sub/a", "old\n");
    world.write("@/outside/data/x", "");
    let (from, to) = (world.path("@/root"), world.path("@/outside/data"));
    let Some(mounted) = Mounted::bind(&from, &to) else { return };
    let resolved = world.resolve("@/outside/data/sub/a");
    let edited = world.append(&["@/outside/data/sub/a"]);
    drop(mounted);
    assert_eq!(resolved, "@/outside/data/sub/a: opened");
    assert_eq!(edited, ["[]"]);
    assert_eq!(world.content("@/root/sub/a"), "old\nadded\n");
    assert_eq!(world.resolve("@/outside/data/x"), "Outside", "what is covered is not in it");
}
