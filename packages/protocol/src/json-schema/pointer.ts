/** One step of a JSON pointer. */
export function pointerPart(name: string): string {
  // Hardly any name has them, and replacing costs more than looking.
  if (!name.includes("~") && !name.includes("/")) return name;
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** What a step of a JSON pointer names, where it is written in the fragment of an address. */
export function pointerToken(written: string): string {
  return decoded(written).replaceAll("~1", "/").replaceAll("~0", "~");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
