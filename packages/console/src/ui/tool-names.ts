/** A readable title from a tool's name. The console always shows the name beside it. */
export function titleOf(tool: string): string {
  const last = tool.split(".").at(-1) ?? tool;
  return sentence(last);
}

/** The group of a tool: the part of its name between `self.` and the last word. */
export function groupOf(tool: string): string {
  const parts = tool.split(".").filter((part, at) => !(at === 0 && part === "self"));
  return parts.length > 1 ? sentence(parts.slice(0, -1).join(" ")) : "";
}

const reading = /^(get|read|list|query|check|is|has|describe|count|measure|status)(_|$)|_get$/;

/**
 * Whether a call was answered with `false`. For a tool that changes something, this means that the change did not happen;
 * for a tool that reads, it is an answer like any other.
 */
export function answeredFalse(tool: string, answer: string | undefined): boolean {
  return answer === "false" && !reading.test(tool.split(".").at(-1) ?? tool);
}

function sentence(name: string): string {
  const words = name.replace(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
