/** What an address shows of the fleet: device tools while they fit, all of them, none, or one device's own. */
export type Surface =
  | { readonly kind: "auto" | "flat" | "compact" }
  | { readonly kind: "device"; readonly device: string };

export function surfaceKey(surface: Surface): string {
  return surface.kind === "device" ? `device ${surface.device}` : surface.kind;
}
