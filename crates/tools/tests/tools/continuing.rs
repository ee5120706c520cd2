//! Whatever the bound and whatever the content: following the continuations gives the whole, once each (W2, F7).

use serde_json::{Value, json};

use crate::support::{Bench, Told};

/// Bounds from the least to the usual one.
const BOUNDS: [u64; 4] = [2_048, 3_000, 8_000, 24 << 10];

/// The most answers until a walk must be at its end.
const PAGES: usize = 2_000;

/// One answer of a walk: it succeeded, and it is no larger than it may be.
fn check(told: &Told, bound: u64) {
    assert_eq!(told.end(), ("succeeded", ""), "{}", told.all());
    let bytes = u64::try_from(told.all().len()).unwrap();
    assert!(bytes <= bound, "{bytes} bytes are over {bound}: {}", told.all());
}

/// The same, for what is cut in one place at most.
fn check_one_cut(told: &Told, bound: u64) {
    check(told, bound);
    assert_eq!(told.at("/truncation/1"), Value::Null, "one cut at a time: {}", told.all());
}

/// Texts whose JSON is longer than they are, or whose lines are.
fn texts() -> Vec<String> {
    vec![
        (1..4_000).map(|line| format!("{line} line with something\n")).collect(),
        "\"a\",\"b\",\"c\"\n".repeat(2_000),
        "\u{1b}[31mred\u{1b}[0m\tand \\ back\r\n".repeat(1_000),
        format!("{{\"k\":[{}]}}", "\"v\",".repeat(8_000)),
        "\u{1}".repeat(9_000),
        "中文字符".repeat(3_000),
        "\n".repeat(9_000),
    ]
}

#[test]
fn w2_every_text_is_read_to_its_end_without_a_gap() {
    for (at, text) in texts().into_iter().enumerate() {
        let bench = Bench::with(&[("f", text.as_bytes())]);
        for bound in BOUNDS {
            let mut next = json!({ "path": "f" });
            let mut read = String::new();
            for _ in 0..PAGES {
                let arguments = json!({ "files": [next], "limits": { "bytes": bound } });
                let told = bench.call("repository_read", arguments);
                check_one_cut(&told, bound);
                read.push_str(&told.text("/result/files/0/text"));
                next = told.at("/truncation/0/continuation");
                if next == Value::Null {
                    break;
                }
            }
            assert!(read == text, "text {at} under {bound}: {} of {}", read.len(), text.len());
        }
    }
}

#[test]
fn w2_every_entry_of_a_listing_is_shown_once() {
    let bench = Bench::new();
    let mut expected = Vec::new();
    for number in 0..300 {
        let path = format!("d{}/{number:03}-{}\"q\"", number % 7, "long-name-".repeat(number % 20));
        bench.write(&path, b"");
        expected.push(path);
    }
    expected.extend((0..7).map(|number| format!("d{number}")));
    expected.sort();
    for bound in BOUNDS {
        let mut next = json!({ "path": ".", "depth": 8 });
        let mut listed = Vec::new();
        for _ in 0..PAGES {
            let arguments = json!({ "files": [next], "limits": { "bytes": bound } });
            let told = bench.call("repository_read", arguments);
            check_one_cut(&told, bound);
            let entries = told.at("/result/files/0/entries");
            let paths = entries.as_array().unwrap().iter();
            listed.extend(paths.map(|entry| entry["path"].as_str().unwrap().to_owned()));
            next = told.at("/truncation/0/continuation");
            if next == Value::Null {
                break;
            }
        }
        assert_eq!(listed, expected, "under {bound}");
    }
}

#[test]
fn w2_every_match_is_shown_once() {
    let bench = Bench::new();
    let line = "\u{1b}[1mneedle\u{1b}[0m \"quoted\" \\ and\ttabs\n";
    // A line that is clipped and has several hits brings every member that a match can have.
    let long = format!("{}needle needle{}\n", "\u{1}\"".repeat(300), "\\ ".repeat(300));
    for (file, line) in [line, &long, line, &long, line].into_iter().enumerate() {
        bench.write(&format!("some/where/file-{file}"), line.repeat(80).as_bytes());
    }
    for (bound, context) in BOUNDS.iter().flat_map(|bound| [(*bound, 0), (*bound, 3), (*bound, 10)])
    {
        let mut after = Value::Null;
        let mut found = Vec::new();
        for _ in 0..PAGES {
            let mut arguments = json!({
                "query": "needle",
                "context_lines": context,
                "limits": { "bytes": bound, "matches": 1_000 },
            });
            if after != Value::Null {
                arguments["after"] = after;
            }
            let told = bench.call("repository_search", arguments);
            check_one_cut(&told, bound);
            let matches = told.at("/result/matches");
            for one in matches.as_array().unwrap() {
                found.push((one["path"].clone().to_string(), one["line"].as_u64().unwrap()));
            }
            after = told.at("/truncation/0/continuation");
            if after == Value::Null {
                break;
            }
        }
        assert_eq!(found.len(), 400, "under {bound} with {context}");
        assert!(found.is_sorted() && found.windows(2).all(|pair| pair[0] != pair[1]));
    }
}

#[test]
fn w2_files_that_find_no_room_are_named_and_read_later() {
    let bench = Bench::new();
    let content = |number: usize| format!("{number} {}\n", "x".repeat(200));
    for number in 0..32 {
        bench.write(&format!("n{number}"), content(number).as_bytes());
    }
    for bound in BOUNDS {
        let mut wanted: Vec<Value> =
            (0..32).map(|number| json!({ "path": format!("n{number}") })).collect();
        let mut read = String::new();
        for _ in 0..PAGES {
            let arguments = json!({ "files": wanted, "limits": { "bytes": bound } });
            let told = bench.call("repository_read", arguments);
            check(&told, bound);
            let files = told.at("/result/files");
            for file in files.as_array().unwrap() {
                read.push_str(file["text"].as_str().unwrap());
            }
            let waiting = wanted.split_off(files.as_array().unwrap().len());
            // The rest of the last file, then those that wait. Their names are left out where there is no room.
            wanted.clear();
            for cut in told.at("/truncation").as_array().into_iter().flatten() {
                match &cut["continuation"] {
                    Value::Array(several) => assert_eq!(*several, waiting),
                    Value::Null => assert_eq!(cut["left_out"]["exact"], waiting.len()),
                    rest => wanted.push(rest.clone()),
                }
            }
            wanted.extend(waiting);
            if wanted.is_empty() {
                break;
            }
        }
        assert_eq!(read, (0..32).map(content).collect::<String>(), "under {bound}");
    }
}
