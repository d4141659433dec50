/** Values that open doors are not shown, wherever they stand: in JSON, and in JSON that is a text inside JSON. */
const words = "token|password|passwd|passphrase|secret|authorization|api_?key|private_?key|psk|pwd|ticket";
/** A text ends at a quote with as many backslashes before it as its first one has, and no more. */
const value = new RegExp(
  String.raw`((\\*)"[^"\\]*(?:${words})[^"\\]*\2"\s*:\s*)(?:\2"(?:[\s\S]*?(?<!\\)\2"|[\s\S]*$)|-?\d[\d.eE+-]*)`,
  "gi",
);
const bearer = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi;

export function withoutSecrets(text: string): string {
  return text
    .replace(value, (_whole, key: string, slashes: string) => `${key}${slashes}"•••${slashes}"`)
    .replace(bearer, "$1 •••");
}
