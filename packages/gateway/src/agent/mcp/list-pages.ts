import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";

const pageSize = 250;

/**
 * A list cut into pages. A cursor names the last item of a page, so that it keeps its meaning when the list changes
 * between two of them.
 */
export class ListPages<Item extends object> {
  readonly #items: readonly Item[];
  readonly #key: keyof Item;

  constructor(items: readonly Item[], key: keyof Item) {
    this.#items = items;
    this.#key = key;
  }

  page(cursor: string | undefined): { readonly items: readonly Item[]; readonly nextCursor?: string } {
    const from = cursor === undefined ? 0 : this.#after(cursor);
    const items = this.#items.slice(from, from + pageSize);
    const last = items.at(-1);
    if (from + pageSize >= this.#items.length || last === undefined) return { items };
    return { items, nextCursor: Buffer.from(String(last[this.#key])).toString("base64url") };
  }

  #after(cursor: string): number {
    const name = Buffer.from(cursor, "base64url").toString();
    const at = this.#items.findIndex((item) => item[this.#key] === name);
    if (at === -1) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "the cursor is not one of ours");
    return at + 1;
  }
}
