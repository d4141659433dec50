/**
 * Where the user was when a session ended. A sign-in link opens the start page, often in a new tab; after it the console
 * returns to this place. If the browser denies storage, it stays on the start page.
 */
const key = "tendon.lastPlace";
const maxAgeMs = 3_600_000;

export function rememberPlace(now = Date.now()): void {
  const { pathname, search, hash } = window.location;
  if (pathname === "/" || hash.startsWith("#code=")) return;
  try {
    localStorage.setItem(key, JSON.stringify({ to: `${pathname}${search}${hash}`, at: now }));
  } catch {
    // Storage denied.
  }
}

/** The place, once; `undefined` if there is none or it is too old. */
export function takePlace(now = Date.now()): string | undefined {
  try {
    const stored = localStorage.getItem(key);
    localStorage.removeItem(key);
    const { to, at } = JSON.parse(stored ?? "{}") as { to?: unknown; at?: unknown };
    const fresh = typeof at === "number" && now - at < maxAgeMs;
    // Only a path of this console, never another host.
    return fresh && typeof to === "string" && /^\/(?!\/)/.test(to) ? to : undefined;
  } catch {
    return undefined;
  }
}
