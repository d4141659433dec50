/** The tools that an address lists: device tools while they fit the budget, all of them, none, or those of one device. */
export type ViewSelection =
  | { readonly kind: "auto" | "flat" | "compact" }
  | { readonly kind: "device"; readonly device: string };

export function selectionKey(selection: ViewSelection): string {
  return selection.kind === "device" ? `device ${selection.device}` : selection.kind;
}
