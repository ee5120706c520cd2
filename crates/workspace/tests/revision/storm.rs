//! Many changes from many sides: no result ever names a revision that it does not match.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fixture::path;
use crate::support::{Tracked, afresh};

/// A small generator of numbers that repeats from its seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// One random change beneath `folder`. It may meet what another one has just taken away.
fn change(it: &Tracked, folder: &str, numbers: &mut Numbers) {
    let file =
        |numbers: &mut Numbers| format!("{folder}/d{}/f{}", numbers.below(4), numbers.below(4));
    let (one, other) = (it.tree.at(file(numbers)), it.tree.at(file(numbers)));
    let parent = one.parent().unwrap().to_owned();
    let content = numbers.below(1000).to_string();
    let done = match numbers.below(8) {
        0 => fs::create_dir_all(&parent).and_then(|()| fs::write(&one, content)),
        1 => fs::remove_file(&one),
        2 => fs::rename(&one, &other),
        3 => fs::remove_dir_all(&parent),
        4 => fs::rename(&parent, other.parent().unwrap()),
        5 => fs::create_dir_all(parent.join("deep/er"))
            .and_then(|()| fs::write(parent.join("deep/er/f"), content)),
        6 => fs::hard_link(&one, &other),
        _ => fs::write(it.tree.at(format!("{folder}/f")), content),
    };
    drop(done);
}

#[test]
fn w1_after_each_of_many_random_changes_the_revision_is_that_of_a_fresh_look() {
    let it = Tracked::new(&[("s/f", "")]);
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    for round in 0..600 {
        for _ in 0..=numbers.below(4) {
            change(&it, "s", &mut numbers);
        }
        let now = it.now();
        assert_eq!(now.revision(), afresh(&it.tree.workspace), "round {round}");
    }
    assert_eq!(it.tracker.audit(&|| false).unwrap(), Vec::new());
}

#[test]
fn w1_content_that_a_writer_has_finished_is_in_the_next_revision() {
    let it = Tracked::new(&[("mine/f", "0"), ("theirs/f", "")]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for seed in 1..3_u64 {
            let (it, is_over) = (&it, &is_over);
            scope.spawn(move || {
                let mut numbers = Numbers(seed * 77);
                let mut left = 3_000;
                while !is_over.load(Ordering::Relaxed) && left > 0 {
                    change(it, "theirs", &mut numbers);
                    left -= 1;
                }
            });
        }
        for round in 0..400 {
            let content = round.to_string();
            fs::write(it.tree.at("mine/f"), &content).unwrap();
            // While others write without a pause it may not come to rest, and then nothing is claimed. They end.
            let now = loop {
                if let Ok(now) = it.tracker.observe(&|| false) {
                    break now;
                }
            };
            assert_eq!(now.has_content(&path("mine/f"), content.as_bytes()), Some(true));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(it.now().revision(), afresh(&it.tree.workspace));
}

#[test]
fn w1_more_events_than_the_queue_holds_are_not_missed() {
    let it = Tracked::new(&[("a", "1")]);
    it.now();
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let events: u64 = limit.trim().parse().unwrap();
    let [one, other] = ["x", "y"].map(|name| it.tree.at(name));
    fs::write(&one, "").unwrap();
    // Two events each, and the kernel joins equal ones that follow each other only.
    for _ in 0..=events / 2 {
        fs::rename(&one, &other).unwrap();
        fs::rename(&other, &one).unwrap();
    }
    fs::write(it.tree.at("a"), "2").unwrap();
    let now = it.now();
    assert_eq!(now.has_content(&path("a"), b"2"), Some(true));
    assert_eq!(now.revision(), afresh(&it.tree.workspace));
    let before = it.now();
    fs::write(it.tree.at("a"), "3").unwrap();
    assert_eq!(it.since(&before), ["~a"]);
}
