/**
 * The sections that all editions of the protocol page have in this order. Each edition has its own titles and examples,
 * in the Markdown file of its name; a test for each statement is registered below the title. Where the firmware differs
 * from the page, the test says so and asserts what the firmware does.
 */
import { describe } from "vitest";
import { type Section, sectionsOf } from "./example.ts";
import type { Page } from "./protocol-site.ts";
import { hello, initialize, messageFormat } from "./session-statements.ts";
import { diagram, notifications, toolsCall, toolsList } from "./tool-statements.ts";

type Statements = (page: Page, section: Section) => void;

const inOrder: readonly Statements[] = [
  messageFormat,
  hello,
  initialize,
  toolsList,
  toolsCall,
  notifications,
  diagram,
];

export function protocolSections(name: string, page: Page): void {
  const sections = sectionsOf(name);
  for (const [index, statements] of inOrder.entries()) {
    const section = sections[index];
    if (section === undefined) throw new TypeError(`${name}.md has no section ${index + 1}`);
    describe(section.title, () => statements(page, section));
  }
}
