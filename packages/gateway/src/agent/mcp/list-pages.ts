import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";

export const pageSize = 250;

/** A cursor names the last item of a page, so that it stays valid when the list changes between two pages. */
export function cursorOf(name: string): string {
  return Buffer.from(name).toString("base64url");
}

export function nameOf(cursor: string): string {
  return Buffer.from(cursor, "base64url").toString();
}

export function wrongCursor(): ProtocolError {
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    "the cursor is not valid; start again without a cursor",
  );
}

/** A list in memory, in pages. */
export class ListPages<Item extends { readonly name: string }> {
  readonly #items: readonly Item[];

  constructor(items: readonly Item[]) {
    this.#items = items;
  }

  page(cursor: string | undefined): { readonly items: readonly Item[]; readonly nextCursor?: string } {
    const from = cursor === undefined ? 0 : this.#after(nameOf(cursor));
    const items = this.#items.slice(from, from + pageSize);
    const last = items.at(-1);
    if (from + pageSize >= this.#items.length || last === undefined) return { items };
    return { items, nextCursor: cursorOf(last.name) };
  }

  #after(name: string): number {
    const at = this.#items.findIndex((item) => item.name === name);
    if (at === -1) throw wrongCursor();
    return at + 1;
  }
}
