#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The page of `clew report --html` in headless Chromium: what is drawn is what its data says, keys
and mouse do what docs/page.md says, and nothing asks for the network. Screenshots stay in
build/page/ to be looked at. Prints TAP.
"""
import base64
import json
import os
import random
import re
import subprocess
import sys
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _export import altered, clew as run_clew, made, made_sampled, place  # noqa: E402  pylint: disable=wrong-import-position
from _trace import HERE, Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
SHOTS = os.path.join(HERE, "..", "..", "build", "page")
PIECES = int(os.environ.get("CLEW_PAGE_PIECES", 1000000))
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--force-color-profile=srgb"
]


def ok(good, name, why=""):
    tap.report(name, "" if good else str(why) or "no")


try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.chrome.service import Service
except ImportError:
    tap.skip("the page in a browser", "python3-selenium is not installed")
    sys.exit(tap.end())


def start():
    options = webdriver.ChromeOptions()
    for flag in FLAGS + ["--window-size=1600,1000"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


class Browser:

    def __init__(self, driver):
        self.driver = driver

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, path, fragment=""):
        self.driver.get("about:blank")
        self.driver.get("file://" + path + fragment)
        return self.wait("window.clew && window.clew.ready")

    def wait(self, condition):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if self.js(f"return Boolean({condition})"):
                return True
            time.sleep(0.02)
        return False

    def range(self):
        return self.js("return [clew.timeline.from, clew.timeline.to]")

    def press(self, *keys):
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def canvas(self):
        return self.driver.find_element(By.CSS_SELECTOR, "canvas")

    def at(self, x, y):
        """A moved pointer, by pixels from the canvas's corner."""
        canvas = self.canvas()
        size = canvas.size
        return ActionChains(self.driver).move_to_element_with_offset(
            canvas, round(x - size["width"] / 2), round(y - size["height"] / 2))

    def errors(self):
        return [it["message"] for it in self.driver.get_log("browser") if it["level"] == "SEVERE"]

    def requests(self):
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return [url for url in found if not url.startswith(("file:", "data:", "about:"))]


def page(capture, name, *arguments):
    path = place(name + ".html")
    done = run_clew("report", capture, "--html", "-o", path, *arguments, stdout=subprocess.DEVNULL)
    assert not done.returncode, done
    return path


def near(a, b, part=1e-6):
    return abs(a - b) <= part * max(abs(a), abs(b), 1)


def test_drawn(browser):
    """The tip says what the data says, and the pixels have the class's colour."""
    wrong, seen = [], 0
    for number in range(browser.js("return clew.meta.operations.length")):
        browser.js("clew.pick(arguments[0]); clew.timeline.draw()", number)
        for segment in browser.js("return clew.operation.segments"):
            start, length, kind, _, sentence = segment[:5]
            x = browser.js("return clew.timeline.x(arguments[0])", start + length / 2)
            width = browser.js("return clew.timeline.x(arguments[0]) - clew.timeline.x(0)", length)
            if width < 4:
                continue
            seen += 1
            said = browser.js("return clew.wordsAt(arguments[0], AXIS + 8)", x)
            expected = browser.js("return clew.meta.sentences[arguments[0]]", sentence)
            if expected not in said:
                wrong.append(f"{said!r} does not say {expected!r}")
            pixel = browser.js(
                "const r = devicePixelRatio || 1; return [...clew.timeline.context.getImageData("
                "Math.round(arguments[0] * r), Math.round((AXIS + 32) * r), 1, 1).data].slice(0, 3)",
                x)
            colour = browser.js("return clew.timeline.colours.classes[arguments[0]]", kind)
            if pixel != [int(colour[i:i + 2], 16) for i in (1, 3, 5)]:
                wrong.append(f"segment of class {kind} is drawn as {pixel}, not {colour}")
    ok(not wrong and seen, f"{seen} segments are drawn in their colours, and told",
       wrong[:3] or "none seen")
    browser.js("clew.pick(0)")
    names = browser.js("return clew.timeline.rows.map((row) => row.name)")
    own = browser.js("return clew.meta.lanes[clew.operation.lane - 1].name")
    cpus = browser.js("return clew.meta.lanes.filter((it) => it.kind === 'cpu').map((it) => it.name)")
    ok(own in names and names[:len(cpus)] == cpus, "CPUs and the operation's thread have rows",
       names)


def test_lanes_drawn(browser):
    """In random places, the pixel of a thread's row has the class of the span there."""
    wrong, seen = [], 0
    browser.js("clew.view(0, clew.meta.length); clew.timeline.operation = null;"
               "clew.timeline.draw()")
    places = browser.js("""
        const found = [], timeline = clew.timeline;
        timeline.rows.forEach((lane, row) => {
            if (lane.kind === "cpu" || lane.spans >= FEW_SPANS)
                return;
            for (let i = 0; i < lane.spans; i++) {
                const a = timeline.x(lane.starts[i]), b = timeline.x(lane.ends[i]);
                if (b - a >= 6)
                    found.push([(a + b) / 2, AXIS + PATH + row * ROW + ROW / 2, lane.classes[i]]);
            }
        });
        return found;""")
    random.Random(1).shuffle(places)
    for x, y, kind in places[:60]:
        pixel = browser.js(
            "const r = devicePixelRatio || 1; return [...clew.timeline.context.getImageData("
            "Math.round(arguments[0] * r), Math.round(arguments[1] * r), 1, 1).data].slice(0, 3)", x,
            y)
        colour = browser.js("return clew.timeline.colours.classes[arguments[0]]", kind)
        seen += 1
        if pixel != [int(colour[i:i + 2], 16) for i in (1, 3, 5)]:
            wrong.append(f"at {x:.0f},{y:.0f}: {pixel}, not {colour}")
    ok(not wrong and seen, f"{seen} pieces of threads have their colours", wrong[:3] or "none seen")
    browser.js("clew.pick(0)")


def test_cpus_drawn(browser, name):
    """On a CPU's line threads of the path have the full colour, and all others the other one."""
    wrong, seen = [], [0, 0]
    for number in range(browser.js("return clew.meta.operations.length")):
        browser.js("clew.pick(arguments[0]); clew.view(0, clew.meta.length); clew.timeline.draw()",
                   number)
        places = browser.js("""
            const found = [], timeline = clew.timeline;
            const path = new Set(clew.operation.segments.map((it) => it[3]));
            timeline.rows.forEach((lane, row) => {
                for (let i = 0; lane.kind === "cpu" && i < lane.spans; i++) {
                    const a = timeline.x(lane.starts[i]), b = timeline.x(lane.ends[i]);
                    if (b - a >= 4)
                        found.push([b - 2, AXIS + PATH + row * ROW + 4, path.has(lane.others[i])]);
                }
            });
            return found;""")
        for x, y, on_path in places:
            pixel = browser.js(
                "const r = devicePixelRatio || 1; return [...clew.timeline.context.getImageData("
                "Math.round(arguments[0] * r), Math.round(arguments[1] * r), 1, 1).data].slice(0, 3)",
                x, y)
            colour = browser.js("return arguments[0] ? clew.timeline.colours.classes[RUNNING] : "
                                "clew.timeline.colours.other", on_path)
            seen[on_path] += 1
            if pixel != [int(colour[i:i + 2], 16) for i in (1, 3, 5)]:
                wrong.append(f"at {x:.0f},{y:.0f}: {pixel}, not {colour}")
    ok(not wrong and any(seen), f"{name}: {seen[1]} runs of the path and {seen[0]} of others have "
       "their colours", wrong[:3] or seen)
    far = browser.js("""
        const lane = clew.meta.lanes.find((it) => it.kind === "cpu"), line = new Uint32Array(400);
        const path = new Set(clew.operation.segments.map((it) => it[3]));
        clew.timeline.fillByLevel(line, lane, finestLevel(lane, clew.meta.length),
                                  (clew.timeline.to - clew.timeline.from) / 400);
        const runs = lane.others.some((it) => path.has(it));
        return [line.includes(clew.timeline.pixels[RUNNING]) <= runs,
                line.every((it) => !it || it === clew.timeline.pixels[RUNNING] ||
                           it === pixelOf(clew.timeline.colours.other))];""")
    ok(far == [True, True], f"{name}: so they have from afar", far)
    browser.js("clew.pick(0)")
    return seen


def test_axis(browser, path):
    """At any width and range, labels of the axis differ, and none reaches into the next."""
    wrong, seen = [], 0
    for width in (1600, 1000, 420, 320):
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False
        })
        browser.open(path)
        for part in (1, 3.7, 41, 1000, 29000):
            for place_of in (0, 0.31, 0.97):
                labels = browser.js("""
                    const length = clew.meta.length, from = length * arguments[1];
                    const timeline = clew.timeline, g = timeline.context;
                    clew.view(from, from + length / arguments[0]);
                    timeline.draw();
                    g.font = FONT;
                    return timeline.axis.map((it) => [it.x, g.measureText(it.text).width, it.text]);
                    """, part, place_of)
                seen += len(labels)
                words = [it[2] for it in labels]
                if len(set(words)) != len(words) or len(words) < 2:
                    wrong.append((width, part, words))
                wrong += [(width, part, one, other) for one, other in zip(labels, labels[1:])
                          if one[0] + one[1] > other[0] - 4]
    ok(seen > 60 and not wrong, f"{seen} labels of the axis have room, and differ", wrong[:3])
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.open(path)


def test_layout(browser):
    """The explanation is beside the timeline, and cards fill the rows below both."""
    boxes = browser.js("""
        const box = (it) => { const r = it.getBoundingClientRect();
                              return [r.left, r.top, r.right, r.bottom]; };
        return [...["#timeline", "#why", ".cards"].map((it) => box(document.querySelector(it))),
                [...document.querySelectorAll(".cards .card")].map(box)];""")
    timeline, why, cards, each = boxes
    ok(why[0] >= timeline[2] and abs(why[1] - timeline[1]) < 2 and
       cards[1] >= max(timeline[3], why[3]), "the why is beside the timeline, cards are below",
       boxes)
    below = [it for it in each if not any(
        other[0] == it[0] and 0 < it[1] - other[3] < 20 for other in each)]
    ok(each and all(abs(it[1] - cards[1]) < 20 for it in below),
       "each card is at the top or just below another one", below)


def test_help(browser):
    with open(os.path.join(HERE, "..", "..", "docs", "page.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\|[^|]*\|[^|]*\|([^|]*)\|$", file.read(), re.M)
    keys = {key.strip() for row in rows for key in row.split(",")} - {"", "key", "---"}
    browser.js("clew.pick(0); clew.canvas.focus()")
    browser.press("?")
    said = browser.js("return clew.help.open && clew.help.innerText") or ""
    names = {"left": "\u2190", "right": "\u2192", "-": "\u2212", "+ -": "+ \u2212"}
    missing = [key for key in keys if names.get(key, key) not in said]
    missing += [it for it in browser.js("return clew.meta.classes") if it not in said]
    ok(len(keys) > 8 and not missing, "? shows the keys and the colours", missing or keys)
    before = browser.range()
    browser.press("+")
    ok(browser.range() == before, "keys of the timeline rest meanwhile", browser.range())
    browser.press(Keys.ESCAPE)
    ok(not browser.js("return clew.help.open"), "Escape closes it")


def test_flame(browser):
    browser.open(page(made_sampled(200), "sampled"))
    frames = browser.js("""
        const flame = document.querySelectorAll(".flame")[0];
        const widths = () => [...flame.children].map((it) => it.hidden ? 0 : it.offsetWidth);
        const before = widths(), i = before.findIndex((it) => it < before[0] * 0.9 && it > 20);
        flame.children[i].click();
        const inside = widths();
        flame.children[0].click();
        return [before, inside, widths(), i];""")
    before, inside, after, chosen = frames
    ok(abs(inside[chosen] - before[0]) < 2 and abs(inside[0] - before[0]) < 2 and 0 in inside and
       after == before, "a click makes a frame wide, one on the first goes back", frames)


def test_keys(browser):
    browser.js("clew.pick(0); clew.canvas.focus()")
    operation = browser.range()
    browser.press(Keys.HOME)
    ok(browser.range() == [0, browser.js("return clew.meta.length")], "Home shows everything",
       browser.range())
    whole = browser.range()
    browser.press("+")
    zoomed = browser.range()
    ok(near(zoomed[1] - zoomed[0], 0.6 * (whole[1] - whole[0])), "+ zooms in", zoomed)
    browser.press(Keys.ARROW_RIGHT)
    moved = browser.range()
    ok(moved[0] > zoomed[0] and near(moved[1] - moved[0], zoomed[1] - zoomed[0]), "right pans", moved)
    browser.press(Keys.ARROW_LEFT)
    ok(near(browser.range()[0], zoomed[0]), "left pans back", browser.range())
    browser.press("-", "-")
    ok(browser.range() == whole, "- zooms out, to the whole at most", browser.range())
    browser.press("0")
    ok(browser.range() == operation, "0 shows the operation", browser.range())
    browser.press("n", "n", "p")
    segment = browser.js("return clew.operation.segments[0]")
    shown = browser.range()
    ok(browser.js("return clew.step") == 0 and shown[0] <= segment[0] and
       shown[1] >= segment[0] + segment[1], "n and p go through the steps", shown)
    ok(browser.js("return clew.live.textContent").endswith(
        browser.js("return wordsOfSegment(clew.meta, clew.operation.segments[0])")),
       "the step is said")
    browser.press("f")
    browser.press(*"no such thing", Keys.ESCAPE)
    ok(browser.js("return document.activeElement === clew.canvas && !clew.found.children.length"),
       "f finds, Escape leaves")
    count = browser.js("return clew.meta.operations.length")
    browser.press("o")
    ok(browser.js("return clew.number") == min(1, count - 1), "o goes to the next operation")
    browser.press("O")
    ok(browser.js("return clew.number") == 0, "O goes back")
    rows = browser.js("return clew.timeline.rows.length")
    browser.press("r")
    everything = browser.js("return clew.timeline.rows.length")
    ok(everything == browser.js("return clew.meta.lanes.length") >= rows, "r shows all rows")
    browser.press("r")
    for _ in range(4):
        browser.press("n", "c")
        if " ended this: " in browser.js("return clew.live.textContent"):
            break
    own = browser.js("const lane = clew.meta.lanes[clew.operation.lane - 1], i = spanAfter(lane, "
                     "clew.operation.segments[clew.step][0]); const other = clew.meta.lanes["
                     "lane.others[i] - 1]; return [other && other.name, lane.ends[i], "
                     "other && clew.timeline.rows.includes(other)]")
    said = browser.js("return clew.live.textContent")
    if own[0]:
        ok(said.startswith(own[0]) and own[2] and browser.range()[0] <= own[1] <= browser.range()[1],
           "c goes to who ended the wait", (own, said))
    else:
        ok("not known" in said, "c says that nobody is known", said)


def test_mouse(browser):
    browser.press(Keys.HOME)
    canvas = browser.canvas()
    browser.js("arguments[0].scrollIntoView()", canvas)
    before = browser.range()
    origin = ScrollOrigin.from_element(canvas, 100, 0)
    ActionChains(browser.driver).scroll_from_origin(origin, 0, -300).perform()
    ok(browser.wait(f"clew.timeline.to - clew.timeline.from < {before[1] - before[0]}"),
       "the wheel zooms", browser.range())
    zoomed = browser.range()
    browser.at(600, 100).click_and_hold().move_by_offset(-150, 0).release().perform()
    ok(browser.range()[0] > zoomed[0], "dragging pans", browser.range())
    rows = browser.driver.find_elements(By.CSS_SELECTOR, "#slowest tr")
    last = len(rows) - 1
    browser.js("arguments[0].scrollIntoView()", rows[last])
    rows[last].find_elements(By.TAG_NAME, "td")[2].click()
    ok(browser.js("return clew.number") == last and
       browser.js("return [...document.querySelectorAll('details.why')].map((it) => !it.hidden)")
       == [i == last for i in range(len(rows))], "a click in the list chooses an operation")
    rows[0].find_elements(By.TAG_NAME, "td")[2].click()
    browser.js("arguments[0].scrollIntoView()", canvas)
    widest = browser.js(
        "return clew.operation.segments.reduce((b, s, i, all) => s[1] > all[b][1] ? i : b, 0)")
    x = browser.js(
        "const s = clew.operation.segments[arguments[0]]; return clew.timeline.x(s[0] + s[1] / 2)",
        widest)
    browser.at(x, 22 + 15).click().perform()
    ok(browser.js("return clew.step") == widest, "a click on the path chooses the step",
       f"{browser.js('return clew.step')}, not {widest}")
    browser.at(x, 22 + 15).perform()
    ok(browser.wait("!clew.tip.hidden && clew.tip.textContent"), "pointing shows a tip")
    ActionChains(browser.driver).key_down(Keys.SHIFT).perform()
    browser.at(400, 100).click_and_hold().move_by_offset(200, 0).release().perform()
    ActionChains(browser.driver).key_up(Keys.SHIFT).perform()
    band = browser.js("return clew.timeline.band")
    ok(band and band[1] > band[0], "shift and drag measure", band)
    said = browser.js("return clew.live.textContent")
    ok("in which the threads above were: " in said and "running" in said, "a measure has sums", said)


def test_address(browser, path):
    browser.js("clew.pick(0); clew.view(clew.operation.from, clew.operation.to)")
    time.sleep(0.4)
    fragment = browser.js("return location.hash")
    shown = browser.range()
    browser.open(path, fragment)
    ok(near(browser.range()[0], shown[0], 1e-3) and near(browser.range()[1], shown[1], 1e-3),
       "a link shows the same view", f"{browser.range()} {shown} {fragment}")


def test_search(browser):
    name = browser.js("return clew.meta.lanes[clew.operation.lane - 1].name")
    browser.js("clew.find(arguments[0])", name.upper())
    ok(name in browser.js("return clew.found.children[0].textContent"), "a thread is found")
    text = browser.js("return clew.meta.texts.filter((it) => it).sort((a, b) => b.length - a.length)[0]")
    browser.js("clew.find(arguments[0])", text)
    ok(text in browser.js("return clew.found.textContent"), "an object is found", text)
    browser.js("clew.found.children[0].click()")
    hit = browser.js("const h = clew.hits[0]; return [h.lane.starts[h.span], h.lane.ends[h.span]]")
    ok(browser.range()[0] <= hit[0] and hit[1] <= browser.range()[1],
       "a click zooms to its longest wait")
    browser.js("clew.goToHit(clew.hits.find((it) => it.text !== undefined))")
    rows = browser.js("return clew.timeline.rows.filter((it) => it.kind !== 'cpu').map((it) => "
                      "[...it.texts].some((t) => clew.meta.texts[t] === arguments[0]))", text)
    ok(rows and all(rows), "and shows those that waited for it", rows)
    browser.js("clew.find(''); clew.pick(0)")


def test_accessible(browser):
    nodes = browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = [
        it["name"]["value"] for it in nodes
        if it.get("name", {}).get("value") and not it.get("ignored")
    ]
    ok(any("timeline" in name for name in named) and any("Why " in name for name in named) and
       any("running" in name and "%" in name for name in named),
       f"{len(nodes)} nodes for those who listen", named[:20])


def test_without_scripts(browser, path):
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.driver.get("file://" + path + "?plain")
    text = browser.driver.find_element(By.TAG_NAME, "body").text
    headline = browser.driver.find_element(By.TAG_NAME, "h1").text
    ok(headline and "Why " in text and "The timeline needs scripts" in text,
       "without scripts there is all but the timeline", text[:300])
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_hostile(browser):
    capture = altered("disk", "script", ('comm="db"', 'comm="</script><b>"'),
                      ('"/data/in"', '"/<img src=x onerror=window.bad=1>"'))
    browser.open(page(capture, "script"))
    ok(browser.js("return !window.bad && !document.querySelector('img, h1 b, td > b')"),
       "names stay text")


def lots(path, spans, lanes=40):
    """A page with as many spans as asked for, made of another one."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    each = spans // lanes
    generator = random.Random(7)
    columns = bytearray(13 * each)
    for i in range(each):
        columns[i] = generator.randrange(1, 9)
        columns[4 * each + i] = generator.randrange(1, 90)
        columns[8 * each + i] = generator.choice((1, 2, 3, 4, 5, 7))
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = b"".join(packer.compress(bytes(columns)) for _ in range(lanes)) + packer.flush()
    match = re.search(r'id="meta">(.*?)</script>', text, re.S)
    meta = json.loads(match.group(1))
    meta["length"] = each * 50 * meta["unit"]
    meta["operations"] = []
    meta["lanes"] = [{
        "name": f"thread-{i}", "kind": "thread", "spans": each, "process": "p", "tid": i, "pid": 1
    } for i in range(lanes)]
    text = text[:match.start(1)] + json.dumps(meta) + text[match.end(1):]
    text = re.sub(r'(id="spans">).*?(</script>)',
                  lambda it: it.group(1) + base64.b64encode(packed).decode() + it.group(2), text,
                  flags=re.S)
    large = place("large.html")
    with open(large, "w", encoding="utf-8") as file:
        file.write(text)
    return large


def test_speed(browser, path):
    opened = browser.open(lots(path, PIECES))
    ready = browser.js("return clew.ready")
    frames = browser.js("""
        const times = [];
        for (let i = 0; i < 60; i++) {
            clew.zoom(i < 30 ? 0.9 : 1 / 0.9, clew.meta.length / 3);
            const begun = performance.now();
            clew.timeline.draw();
            times.push(performance.now() - begun);
        }
        return times.sort((a, b) => a - b);""")
    print(f"# {PIECES} pieces: shown after {ready:.0f} ms, a frame takes {frames[30]:.1f} ms "
          f"(median), {frames[57]:.1f} ms (95 %)")
    ok(opened and browser.js("return clew.timeline.rows.length") > 1, f"{PIECES} pieces are drawn")


def shoot(browser, path):
    """Pictures for people, in all dresses."""
    os.makedirs(SHOTS, exist_ok=True)

    def shot(name, width, height):
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False
        })
        browser.open(path)
        time.sleep(0.2)
        browser.driver.save_screenshot(os.path.join(SHOTS, name + ".png"))
        return browser.js("return document.documentElement.scrollWidth <= innerWidth")

    fits = {width: shot(f"light-{width}", width, height)
            for width, height in ((1600, 1200), (1280, 1400), (420, 1600))}
    ok(all(fits.values()), "nothing is wider than the window", fits)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": "dark"}]
    })
    shot("dark", 1600, 1200)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    for kind in ("deuteranopia", "protanopia", "achromatopsia"):
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedVisionDeficiency", {"type": kind})
        shot(kind, 1600, 1200)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedVisionDeficiency", {"type": "none"})
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_policy(browser):
    """The document's own policy forbids the network."""
    browser.errors()
    refused = browser.driver.execute_async_script(
        "const done = arguments[0]; fetch('http://127.0.0.1:9/').then(() => done(false),"
        " () => done(true));")
    said = " ".join(browser.errors())
    ok(refused and "Content Security Policy" in said, "the policy forbids the network", said)


def run(browser):
    path = page(made("crowd"), "crowd")
    ok(browser.open(path), "the page opens", browser.errors())
    test_drawn(browser)
    test_lanes_drawn(browser)
    test_layout(browser)
    test_axis(browser, path)
    test_help(browser)
    test_keys(browser)
    test_mouse(browser)
    test_address(browser, path)
    test_accessible(browser)
    drawn = []
    for name in ("locks", "disk", "frames", "own", "life", "doubt"):
        opened = browser.open(page(made(name), name))
        errors = browser.errors()
        ok(opened and not errors, f"{name}: opens without an error", errors)
        if browser.js("return clew.meta.operations.length"):
            test_drawn(browser)
        if name == "disk":
            test_search(browser)
        if name in ("locks", "disk", "frames"):
            drawn.append(test_cpus_drawn(browser, name))
    ok(all(sum(it) > 2 for it in zip(*drawn)), "both kinds of runs were seen on CPUs", drawn)
    test_flame(browser)
    test_hostile(browser)
    test_without_scripts(browser, path)
    test_speed(browser, path)
    shoot(browser, os.environ.get("CLEW_PAGE") or path)
    ok(not browser.requests(), "nothing asked for the network")
    errors = browser.errors()
    ok(not errors, "no error in the console", errors[:3])
    test_policy(browser)


if __name__ == "__main__":
    driver = start()
    try:
        run(Browser(driver))
    finally:
        driver.quit()
    sys.exit(tap.end())
