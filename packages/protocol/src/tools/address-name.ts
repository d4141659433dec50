const words = /(?:^|[^a-z])(?:ur[il]|href|webhook)|ur[il]s?(?:$|[^a-z])/;
const format = /(?:^|[^a-z])[ui]r[il](?:$|[^a-z])(?!template)/;
/** Not `hourly` or `curly`. */
const letters = /(?:^|[^bcfhnops])url|href|webhook/;
const beginning = /^(?:https?|wss?|ftps?|file):|[/\\]{2}/;

/** Whether an argument's name says that it is an address [ACC-5], in any case: `uRl` is `url` to a board. */
export function isAddressName(name: string): boolean {
  const split = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
  return words.test(split) || words.test(name.toLowerCase());
}

/** Whether a schema's `format` says it. */
export function isAddressFormat(name: string): boolean {
  return format.test(name.toLowerCase());
}

/**
 * Whether a name that a board takes for this one may say it, where it is not known what the board calls it: which
 * letters are capitals, and so begin a word, was for the caller to choose.
 */
export function mayBeAddressName(name: string): boolean {
  const lower = name.toLowerCase();
  return letters.test(lower) || (name !== lower && lower.includes("uri"));
}

/** Whether some reader could take a text for an address. */
export function looksLikeAddress(text: string): boolean {
  return beginning.test(text.replaceAll(/[\s\p{Cc}]/gu, "").toLowerCase());
}
