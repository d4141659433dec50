/** Accessibility findings of a page in the browser, by axe-core. */
import axe from "axe-core";
import type { Page } from "playwright-core";

interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** The rules whose outcome depends on the theme. */
const rulesOfColour = ["color-contrast", "link-in-text-block"];

/** Turns off the rules whose findings are never serious: `seriousFindings` returns none of them. */
const onlySerious = `for (const rule of axe._audit.rules)
  if (rule.impact === "minor" || rule.impact === "moderate") rule.enabled = false;`;

/**
 * Most of the work is contrast. It follows from the style of a text and the backgrounds behind it, and most texts look
 * like others: the rows of a list, the menu of every page. So a text that looks like one with enough contrast is not
 * measured again, except where the background of an element other than its ancestors overlaps it.
 */
const measureEachLookOnce = `(() => {
  const rule = axe._audit.rules.find(({ id }) => id === "color-contrast");
  const check = axe._audit.checks["color-contrast"];
  const { matches } = rule;
  const { evaluate } = check;
  const readable = new Set();
  let behind, backgrounds;

  const hasBackground = ({ backgroundColor, backgroundImage }) =>
    backgroundColor !== "rgba(0, 0, 0, 0)" || backgroundImage !== "none";
  /** The styles of an element and its ancestors that change the colours of a text in it. */
  const behindTextOf = (element) => {
    if (element === null) return "";
    const known = behind.get(element);
    if (known !== undefined) return known;
    const style = getComputedStyle(element);
    const { opacity, filter, mixBlendMode, backgroundColor, backgroundImage, backgroundClip } = style;
    const own = [opacity, filter, mixBlendMode, hasBackground(style) && [backgroundColor, backgroundImage, backgroundClip]];
    const all = behindTextOf(element.parentElement) + (own.join() === "1,none,normal,false" ? "" : own.join() + ";");
    behind.set(element, all);
    return all;
  };
  const lookOf = (element) => {
    const { color, fontSize, fontWeight, textShadow, webkitTextStroke } = getComputedStyle(element);
    return [behindTextOf(element), color, fontSize, fontWeight, textShadow, webkitTextStroke].join(" ");
  };
  const isOverlapped = (element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return backgrounds.some(
      ({ other, at }) =>
        at.left < right && at.right > left && at.top < bottom && at.bottom > top &&
        !other.contains(element) && !element.contains(other),
    );
  };

  window.lookAgain = () => {
    behind = new Map();
    backgrounds = [...document.querySelectorAll("body *")]
      .filter((other) => other.checkVisibility() && hasBackground(getComputedStyle(other)))
      .map((other) => ({ other, at: other.getBoundingClientRect() }))
      // Texts for screen readers are one pixel high.
      .filter(({ at }) => at.width > 1 && at.height > 1);
  };
  rule.matches = (element, ...more) =>
    (!readable.has(lookOf(element)) || isOverlapped(element)) && matches.call(rule, element, ...more);
  check.evaluate = function (element, ...more) {
    let background;
    const data = (found) => {
      background = found.bgColor;
      this.data(found);
    };
    const enough = evaluate.call(Object.assign(Object.create(this), { data }), element, ...more);
    // Without a background nothing was measured: the text is hidden.
    if (enough === true && background !== undefined) readable.add(lookOf(element));
    return enough;
  };
})()`;

/** Injected from outside, because the page's CSP allows no other script; once, because it is large. */
export async function bringInspector(page: Page): Promise<void> {
  await page.evaluate(axe.source);
  await page.evaluate(onlySerious);
  await page.evaluate(measureEachLookOnce);
}

/** The serious findings of all rules, or only of those that depend on the theme. */
export async function seriousFindings(page: Page, rules: "all" | "colours"): Promise<string[]> {
  const options = {
    resultTypes: ["violations"],
    preload: false,
    ...(rules === "all" ? {} : { runOnly: rulesOfColour }),
  };
  // A dialog begins transparent, and would count as closed.
  const found = (await page.evaluate(`(async () => {
    await Promise.all(
      document.getAnimations().filter((each) => each.animationName === "pop").map((each) => each.finished),
    );
    lookAgain();
    return (await axe.run(document, ${JSON.stringify(options)})).violations;
  })()`)) as Finding[];
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`).join("; ")}`,
    );
}
