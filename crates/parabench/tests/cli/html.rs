//! The page and the pictures as files: `run --html`, `report --html`, `report --svg`.

use crate::browser::Browser;
use crate::scene::{Scene, skip};

/// Labels that must stay text, failures, several labels, a parameter.
const PROGRAM: &str = r#"
param $num = 40;   /// files per rank
time["</script><script>alert(1)</script><b>bold & \"quoted\""] {
    repeat $i $num write("f-$$rank-$i", 64k);
}
barrier;
time["read again, with a label that is so long that no table and no picture can show it in one line of a telephone"]
    repeat $i $num read("f-$$rank-$i");
stat("missing");
"#;

fn scene() -> Scene {
    Scene::new().file("x.ppl", PROGRAM)
}

#[test]
fn a_run_writes_its_page_and_leaves_nothing_else() {
    let scene = scene();
    scene.parabench("run x.ppl --backend mem -n 3 --html page.html").exits(1).out_has("failed");
    assert_eq!(scene.names("."), ["page.html", "x.ppl"]);
    let page = scene.text("page.html");
    assert!(page.starts_with("<!DOCTYPE html>"));
    for part in
        ["id=\"bandwidth-over-time\"", "id=\"program\"", "ENOENT", "<td class=\"code\">stat("]
    {
        assert!(page.contains(part), "{part}");
    }
    let code =
        page.matches("<script").count() - page.matches("<script type=\"application/json\"").count();
    assert_eq!(code, 1, "one script that does something");
}

/// The command of a page is the one that was given: pasted into a shell it makes such a run again.
#[test]
fn the_command_of_a_page_runs() {
    let scene = Scene::new().file("it's x.ppl", "param $n = 3; repeat $n write(\"f\", 4k);\n");
    let call = scene.call("run --backend mem --sweep n=1,2 --reps 2 --seed 7 --events --out r");
    call.word("it's x.ppl").word("--html").word("p.html").run().exits(0);
    let page = scene.text("p.html");
    let (_, rest) = page.split_once("<div class=\"command\"><code>").expect("a command");
    let (command, _) = rest.split_once("</code>").expect("its end");
    let command = command.replace("&#39;", "'").replace("&apos;", "'");
    let expected = "parabench run --backend mem --sweep n=1,2 --reps 2 --seed 7 --events --out r \
                    'it'\\''s x.ppl' --html p.html";
    assert_eq!(command, expected);
    let words: Vec<serde_json::Value> =
        scene.json("r/run.json")["run"]["command"].as_array().expect("words").clone();
    assert_eq!((&words[0], words.len()), (&"parabench".into(), 16));
}

#[test]
fn a_stored_run_gives_the_same_page() {
    let scene = scene();
    scene.parabench("run x.ppl --backend mem -n 3 --out results --html a.html").exits(1);
    scene.parabench("report results --html b.html --svg pictures").exits(0).out_is("");
    assert_eq!(scene.text("a.html"), scene.text("b.html"));
    let pictures = scene.names("pictures");
    assert!(pictures.contains(&"bandwidth-over-time.svg".to_string()), "{pictures:?}");
    assert!(
        pictures.iter().all(|name| scene.text(&format!("pictures/{name}")).contains("<title>"))
    );
}

#[test]
fn files_that_cannot_be_written_are_refused_before_the_run() {
    let scene = scene();
    let line = "run x.ppl --backend mem --html nowhere/page.html";
    scene.parabench(line).exits(2).err_has("there is no folder nowhere");
    scene.parabench("run x.ppl --backend mem --html .").exits(2).err_has("found a folder");
    scene.parabench("run y.ppl --backend mem --html page.html").exits(2);
    assert_eq!(scene.names("."), ["x.ppl"]);
}

/// Debian's Chromium shows the page on a desk and on a telephone, light and dark, and prints it.
#[test]
fn a_browser_shows_the_page_without_overflow_and_complaints() {
    let scene = scene();
    scene.parabench("run x.ppl --backend mem -n 24 --html page.html").exits(1);
    let Some(mut browser) = Browser::start(&scene.path("browser")) else {
        return skip("chromium-headless-shell is not installed");
    };
    let address = format!("file://{}", scene.path("page.html").display());
    for (width, scheme) in [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")] {
        browser.open(&address, width, scheme);
        let found = browser.evaluate(
            "JSON.stringify([document.scrollingElement.scrollWidth, document.scrollingElement.clientWidth,\
             getComputedStyle(document.body).backgroundColor, document.querySelectorAll('svg').length,\
             document.querySelectorAll('script:not([type])').length,\
             [...document.querySelectorAll('h1,h2,h3,p,li,dd,figure')].filter(e => \
             e.getBoundingClientRect().right > document.scrollingElement.clientWidth + 1).length])",
        );
        let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
        assert_eq!(found[0], found[1], "wider than the window at {width} {scheme}: {found}");
        assert_eq!(found[1], width, "{found}");
        let page = if scheme == "dark" { "rgb(20, 23, 27)" } else { "rgb(255, 255, 255)" };
        assert_eq!(found[2], page, "{scheme}");
        assert!(found[3].as_u64() > Some(8), "pictures: {found}");
        assert_eq!((found[4].as_u64(), found[5].as_u64()), (Some(1), Some(0)), "{found}");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert!(browser.printed_bytes() > 10_000);
}
