/** Examples as the documents print them: JSON in which `...` and `"..."` stand for what was left out. */
import fs from "node:fs";
import { expect } from "vitest";
import type { Fields } from "../raw-device.ts";

const anyValue = "(any value)";
const more = "(more)";
const token = /"(?:[^"\\]|\\.)*"|\.\.\.|[^\s"]/g;

export class Example {
  readonly #template: Fields;

  /** The text of the document, without its comments. */
  constructor(text: string) {
    this.#template = JSON.parse(withoutGaps(text)) as Fields;
  }

  /** The example as a message, with values for what the document left out. */
  message(values: Fields = {}): Fields {
    return { ...(withoutMore(this.#template) as Fields), ...values };
  }

  /** Matches messages with exactly the fields and values of the example, and any value where it has a gap. */
  get matcher(): unknown {
    return matcherOf(this.#template);
  }

  /** The member at this path, as a matcher. */
  matcherAt(...path: readonly string[]): unknown {
    return matcherOf(path.reduce<unknown>((value, key) => (value as Fields)[key], this.#template));
  }

  /** The names of the members at this path. */
  keys(...path: readonly string[]): string[] {
    return Object.keys(
      path.reduce<unknown>((value, key) => (value as Fields)[key], this.#template) as Fields,
    );
  }
}

function withoutGaps(text: string): string {
  const open: string[] = [];
  let previous = "";
  return [...text.matchAll(token)]
    .map(([part]) => {
      if (part === "{" || part === "[") open.push(part);
      if (part === "}" || part === "]") open.pop();
      const before = previous;
      previous = part;
      if (part !== "...") return part;
      if (before === ":") return JSON.stringify(anyValue);
      return open.at(-1) === "{" ? `${JSON.stringify(more)}:true` : JSON.stringify(more);
    })
    .join("");
}

function withoutMore(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== more).map(withoutMore);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([key]) => key !== more);
  return Object.fromEntries(members.map(([key, member]) => [key, withoutMore(member)]));
}

function matcherOf(value: unknown): unknown {
  if (value === "...") return expect.any(String);
  if (value === anyValue) return expect.anything();
  if (Array.isArray(value)) {
    const items = value.filter((item) => item !== more).map(matcherOf);
    return items.length === value.length ? items : expect.arrayContaining(items);
  }
  if (typeof value !== "object" || value === null) return value;
  const { [more]: open, ...members } = value as Fields;
  const matchers = Object.fromEntries(
    Object.entries(members).map(([key, member]) => [key, matcherOf(member)]),
  );
  return open === undefined ? matchers : expect.objectContaining(matchers);
}

/** A section of a document with examples: a heading and its code blocks in the file of this name. */
export interface Section {
  readonly title: string;
  readonly examples: readonly Example[];
}

export function sectionsOf(name: string): Section[] {
  const text = fs.readFileSync(new URL(`${name}.md`, import.meta.url), "utf8");
  const [, ...sections] = text.split(/^## /m);
  return sections.map((section) => ({
    title: section.slice(0, section.indexOf("\n")),
    examples: [...section.matchAll(/^```json\n(.*?)^```$/gms)].map(([, json = ""]) => new Example(json)),
  }));
}

/** The example of a section at this position. */
export function exampleOf({ title, examples }: Section, index = 0): Example {
  const example = examples[index];
  if (example === undefined) throw new TypeError(`"${title}" has no example ${index + 1}`);
  return example;
}
