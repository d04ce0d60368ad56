//! Tests of what is explored, and of what each rule is there for.

use stateright::{Checker as _, Model as _};

use crate::call::Change::{self, Create, Edit, Move, Overwrite, Remove};
use crate::model::{Faults, Happens, Machines};
use crate::rules::{Asks, Claim, PastCaches, Rules, Tree};

/// Each fault may happen once.
const ONCE: Faults = Faults { deaths: 1, lost_sessions: 1, lost_locks: 1, warm_caches: 0 };

/// A process dies, and the machine that recovers remembers what was.
const WARM: Faults = Faults { deaths: 1, lost_sessions: 0, lost_locks: 0, warm_caches: 1 };

/// The property that is about no loss.
const ENDS: &str = "everything ends, and nothing is left";

/// The call of one machine, and that of another.
const CALLS: &[(&[Change], &[Change])] = &[
    (&[Edit(0)], &[Edit(0)]),
    (&[Create(2)], &[Create(2)]),
    (&[Overwrite(0)], &[Overwrite(0)]),
    (&[Remove(0)], &[Edit(0)]),
    (&[Move(0, 2)], &[Edit(0)]),
    (&[Edit(0), Edit(1)], &[Edit(0)]),
    (&[Edit(0), Edit(1)], &[Edit(0), Edit(1)]),
    (&[Create(2), Edit(0)], &[Edit(0)]),
    (&[Remove(1), Edit(0)], &[Edit(0)]),
    (&[Move(1, 2), Edit(0)], &[Edit(1)]),
    (&[Move(1, 2), Edit(0)], &[Create(2)]),
    (&[Overwrite(0), Edit(1)], &[Overwrite(0)]),
    (&[Overwrite(0), Edit(1)], &[Edit(1)]),
    (&[Remove(0), Create(2)], &[Create(2)]),
    (&[Move(0, 2), Create(0)], &[Edit(0)]),
];

/// The result of an exploration.
struct Explored {
    states: usize,
    /// A property that does not hold, and the steps that lead there.
    against: Option<(&'static str, Vec<Happens>)>,
}

fn explore(rules: Rules, calls: &[&[Change]], reads: &[u8], faults: Faults) -> Explored {
    let calls = calls.iter().map(|call| call.to_vec()).collect();
    let machines = Machines { rules, files: vec![true, true, false], calls, reads: reads.to_vec(), faults };
    let checker = machines.checker().threads(2).spawn_bfs().join();
    assert!(checker.is_done());
    let against = checker.discoveries().into_iter().map(|(name, path)| (name, path.into_actions()));
    let against = against.min_by_key(|(name, steps)| (*name == ENDS, steps.len(), *name));
    Explored { states: checker.unique_state_count(), against }
}

/// Explores all calls, and panics with the steps to what does not hold.
fn all_holds(rules: impl Fn(Tree) -> Rules, faults: Faults) -> usize {
    let mut states = 0;
    for tree in [Tree::Exchanges, Tree::Renames] {
        for (call, other) in CALLS {
            for (calls, reads) in [(vec![*call, *other], vec![]), (vec![*call], vec![0, 1, 2, 0])] {
                let found = explore(rules(tree), &calls, &reads, faults);
                assert!(found.against.is_none(), "{tree:?} {calls:?}: {:#?}", found.against);
                states += found.states;
            }
        }
    }
    states
}

/// `MACHINES_FAULTS=2` lets more faults happen, which takes minutes.
#[test]
#[ignore = "it takes some 12 s of a processor"]
fn whatever_fails_all_holds() {
    #[expect(clippy::disallowed_methods, reason = "whoever has the time asks for more")]
    let more = std::env::var("MACHINES_FAULTS").is_ok_and(|times| times == "2");
    let faults = if more { Faults { lost_sessions: 2, ..ONCE } } else { ONCE };
    println!("{} states, {faults:?}", all_holds(Rules::of, faults));
}

/// Returns the steps that lead to what does not hold, of the first call of which there are some.
fn found_without(
    rule: impl Fn(&mut Rules),
    reads: &[u8],
    faults: Faults,
) -> Option<(&'static str, Vec<Happens>)> {
    for tree in [Tree::Exchanges, Tree::Renames] {
        for (call, other) in CALLS {
            let mut rules = Rules::of(tree);
            rule(&mut rules);
            let calls: &[&[Change]] = if reads.is_empty() { &[call, other] } else { &[call] };
            let found = explore(rules, calls, reads, faults).against;
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

#[test]
fn each_rule_is_needed() {
    type Without = fn(&mut Rules);
    let without: &[(&str, Without)] = &[
        ("takes_over_by_lock", |rules| rules.takes_over_by_lock = false),
        ("claim: looks and unlinks", |rules| rules.claim = Claim::LooksAndUnlinks),
        ("claim: leaves", |rules| rules.claim = Claim::Leaves),
        ("proves_before_names", |rules| rules.proves_before_names = false),
        ("begin_is_exclusive", |rules| rules.begin_is_exclusive = false),
        ("prepared_is_conditional", |rules| rules.prepared_is_conditional = false),
        ("committed_is_conditional", |rules| rules.committed_is_conditional = false),
        ("leaves_what_is_in_doubt", |rules| rules.leaves_what_is_in_doubt = false),
        ("proves_before_rolling_back", |rules| rules.proves_before_rolling_back = false),
        ("recovery_proves", |rules| rules.recovery_proves = false),
        ("proves_before_writing", |rules| rules.proves_before_writing = false),
    ];
    for (name, rule) in without {
        let found = found_without(rule, &[], ONCE);
        println!("without {name}: {found:?}");
        assert!(found.is_some(), "{name}");
    }
}

/// An edit is taken back by half if a name is believed, and its old text is lost if a temporary is. Where
/// names are exchanged, one file at both names shows that one of them is only remembered; where the old file
/// has got a second name, nothing does.
#[test]
fn recovery_looks_at_each_name_and_each_temporary_past_caches_and_both_must_agree() {
    for (past_caches, must_agree, losing) in [
        (PastCaches::Nothing, false, [true, true]),
        (PastCaches::Nothing, true, [true, true]),
        (PastCaches::Files, false, [true, false]),
        (PastCaches::Files, true, [false, false]),
        (PastCaches::Temporaries, false, [true, true]),
        (PastCaches::Temporaries, true, [false, true]),
    ] {
        for (tree, loses) in [Tree::Exchanges, Tree::Renames].into_iter().zip(losing) {
            let found = losses(tree, |rules| Rules { past_caches, must_agree, ..rules }, WARM);
            println!("{tree:?} {past_caches:?} {must_agree}: {found:?}");
            assert_eq!(found.is_some(), loses, "{tree:?} {past_caches:?} {must_agree}: {found:#?}");
        }
    }
}

/// With two texts in all, a file that the call has not made can have the bytes of one that it has.
#[test]
fn recovery_knows_files_by_their_identity() {
    for tree in [Tree::Exchanges, Tree::Renames] {
        let without = |rules| Rules { knows_identity: false, are_texts_equal: true, ..rules };
        let found = losses(tree, without, ONCE);
        println!("{tree:?}: {found:?}");
        assert!(found.is_some());
    }
}

/// Returns what is lost by such rules, and the steps to it, of the first call of which something is.
fn losses(
    tree: Tree,
    rules: impl Fn(Rules) -> Rules,
    faults: Faults,
) -> Option<(&'static str, Vec<Happens>)> {
    CALLS.iter().find_map(|(call, _)| {
        let found = explore(rules(Rules::of(tree)), &[call], &[], faults).against;
        found.filter(|(name, _)| *name != ENDS)
    })
}

#[test]
fn a_read_asks_between_reading_and_looking_again() {
    for asks in [Asks::Before, Asks::After, Asks::Never] {
        let found = found_without(|rules| rules.asks = asks, &[0, 1, 2, 0], ONCE);
        println!("{asks:?}: {found:?}");
        assert!(found.is_some(), "{asks:?}");
    }
}

/// What is left: a step that needs no temporary, and is taken once its session is over although that was
/// proved before.
#[test]
#[ignore = "it takes some 8 s of a processor"]
fn a_step_without_a_temporary_must_follow_its_proof_while_the_session_lasts() {
    let found = found_without(|rules| rules.sessions_outlast_steps = false, &[], ONCE);
    println!("{found:?}");
    assert!(found.is_some());
    // A directory of the record's, into which names are taken away, and which recovery removes first, would
    // close it for names.
    let into_directories = |tree| Rules {
        sessions_outlast_steps: false,
        takes_into_directories: true,
        proves_before_names: false,
        ..Rules::of(tree)
    };
    let of_names = CALLS.iter().filter(|(call, _)| !call.iter().any(|change| matches!(change, Overwrite(_))));
    for (call, other) in of_names {
        for tree in [Tree::Exchanges, Tree::Renames] {
            let found = explore(into_directories(tree), &[call, other], &[], ONCE).against;
            assert!(found.is_none(), "{tree:?} {call:?}: {found:#?}");
        }
    }
}
