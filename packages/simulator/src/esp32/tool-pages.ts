import { type ByteText, fromText, wire } from "./byte-text.ts";
import { printTool, type Tool } from "./tool.ts";

const payloadLimit = 8000;
/** Bytes the firmware keeps free for the end of the page. */
const pageReserve = 30;
const pageStart = '{"tools":[';

/** The largest definition that a page has room for. A larger one hides itself and the tools after it. */
export const maxDefinitionBytes = payloadLimit - pageReserve - pageStart.length - ",".length;

export type Page =
  | { readonly ok: true; readonly result: ByteText }
  | { readonly ok: false; readonly message: ByteText };

/**
 * One page of tools/list. The cursor is the name of the page's first tool. An empty page is an error: its first tool is
 * too large (the error names it), or the cursor is unknown (the name is empty, hence two spaces).
 */
export function listPage(tools: readonly Tool[], cursor: ByteText, withUserTools: boolean): Page {
  const names = tools.map((tool) => fromText(tool.name));
  const start = cursor === "" ? 0 : names.indexOf(cursor);
  const printed: ByteText[] = [];
  let { length } = pageStart;
  let next = fromText("");
  for (const [index, tool] of tools.entries()) {
    if (start < 0 || index < start || (tool.userOnly && !withUserTools)) continue;
    const json = printTool(tool);
    if (length + json.length + 1 + pageReserve > payloadLimit) {
      next = names[index] ?? next;
      break;
    }
    printed.push(json);
    length += json.length + 1;
  }
  if (printed.length === 0 && tools.length > 0) {
    return { ok: false, message: wire`Failed to add tool ${next} because of payload size limit` };
  }
  const list = printed.join(",") as ByteText;
  const end = next === "" ? wire`` : wire`,"nextCursor":"${next}"`;
  return { ok: true, result: wire`{"tools":[${list}]${end}}` };
}
