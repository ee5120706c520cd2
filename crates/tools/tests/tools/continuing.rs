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

fn digest(value: Value) -> wire::Digest {
    serde_json::from_value(value).unwrap()
}

/// What a command printed and what is shown of it: the beginning and the end, and the whole as an artifact.
fn check_stream(bench: &Bench, told: &Told, name: &str, whole: &[u8]) {
    let part = |part: &str| told.at(&format!("/result/{name}/{part}"));
    let text = |name: &str| part(name).as_str().unwrap_or_default().to_owned();
    let (head, tail) = (text("head"), text("tail"));
    let left_out = part("left_out_bytes").as_u64().unwrap();
    assert_eq!(part("total_bytes").as_u64().unwrap(), whole.len() as u64);
    assert_eq!(head.len() as u64 + left_out + tail.len() as u64, whole.len() as u64, "{name}");
    assert!(whole.starts_with(head.as_bytes()) && whole.ends_with(tail.as_bytes()), "{name}");
    let cuts = [0, 1].map(|nth| format!("/truncation/{nth}"));
    let is_ours = |cut: &String| told.text(&format!("{cut}/field")) == format!("/result/{name}");
    match cuts.into_iter().find(is_ours) {
        None => assert_eq!(left_out, 0, "{name}"),
        Some(cut) => {
            assert!(tail.len() > head.len(), "the end says more: {}", told.all());
            assert_eq!(told.at(&format!("{cut}/left_out/exact")).as_u64(), Some(left_out));
            let kept = bench.artifact(&digest(told.at(&format!("{cut}/artifact"))));
            assert!(kept == whole, "{name}: {} of {} are kept", kept.len(), whole.len());
        }
    }
}

#[test]
fn f7_x6_a_commands_output_fits_every_bound_with_its_end_and_its_exit_code() {
    let long: Vec<String> = texts();
    let words = "short\n".to_owned();
    let pairs = long.iter().map(|text| (text, &words)).chain(long.iter().zip(long.iter().rev()));
    for (at, (out, err)) in pairs.enumerate() {
        let bench = Bench::with(&[("out", out.as_bytes()), ("err", err.as_bytes())]);
        for bound in BOUNDS {
            let script = "cat out; cat err >&2; echo > .envrc; exit 3";
            let arguments = json!({ "shell": { "script": script }, "limits": { "bytes": bound } });
            let told = bench.call("process_run", arguments);
            assert_eq!(told.end(), ("failed", "command_failed"), "{at} under {bound}");
            let bytes = u64::try_from(told.all().len()).unwrap();
            assert!(bytes <= bound, "{at}: {bytes} bytes are over {bound}: {}", told.all());
            assert!(
                bytes > bound / 2 || out.len() + err.len() < 20_000,
                "{at}: {bytes} of {bound}"
            );
            assert_eq!(told.at("/result/exit_code"), json!(3));
            assert_ne!(told.at("/result/held"), Value::Null);
            check_stream(&bench, &told, "stdout", out.as_bytes());
            check_stream(&bench, &told, "stderr", err.as_bytes());
        }
    }
}

#[test]
fn f7_a_diff_is_cut_at_a_line_and_kept_whole() {
    for text in texts() {
        for bound in BOUNDS {
            let bench = Bench::new();
            let change = json!({ "action": "create", "path": "f", "content": text });
            let arguments = json!({ "changes": [change], "limits": { "bytes": bound } });
            let told = bench.call("repository_patch", arguments);
            check_one_cut(&told, bound);
            let shown = told.text("/result/diff");
            assert_eq!(told.text("/result/files/0/change"), "created");
            assert!(shown.starts_with("--- /dev/null\n+++ b/f\n@@ "), "{}", told.all());
            if told.at("/truncation/0") != Value::Null {
                assert_eq!(told.text("/truncation/0/field"), "/result/diff");
                let whole = bench.artifact(&digest(told.at("/truncation/0/artifact")));
                let whole = String::from_utf8(whole).unwrap();
                let left_out = told.at("/truncation/0/left_out/exact").as_u64().unwrap();
                assert_eq!(shown.len() as u64 + left_out, whole.len() as u64);
                assert!(whole.starts_with(&shown) && shown.ends_with('\n'));
            }
        }
    }
}
