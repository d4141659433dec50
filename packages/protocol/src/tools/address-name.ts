const words = /(?:^|[^a-z])(?:ur[il]|href|webhook)|ur[il]s?(?:$|[^a-z])/;
const format = /(?:^|[^a-z])[ui]r[il](?:$|[^a-z])(?!template)/;
/** Matches whole words, so not `hourly` or `curly`. */
const letters = /(?:^|[^bcfhnops])url|href|webhook/;
const beginning = /^(?:https?|wss?|ftps?|file):|[/\\]{2}/;

/** Whether an argument's name means an address [ACC-5]. Case does not matter, because a board reads `uRl` as `url`. */
export function isAddressName(name: string): boolean {
  const split = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
  return words.test(split) || words.test(name.toLowerCase());
}

/** Whether a schema's `format` means an address. */
export function isAddressFormat(name: string): boolean {
  return format.test(name.toLowerCase());
}

/**
 * Like `isAddressName`, for arguments that are not in the schema. The caller chose the capitals, which separate words, so
 * any of the letters may start a word.
 */
export function mayBeAddressName(name: string): boolean {
  const lower = name.toLowerCase();
  return letters.test(lower) || (name !== lower && lower.includes("uri"));
}

/** Whether a text could be parsed as an address. */
export function looksLikeAddress(text: string): boolean {
  return beginning.test(text.replaceAll(/[\s\p{Cc}]/gu, "").toLowerCase());
}
