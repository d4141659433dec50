/** One step of a JSON pointer. */
export function pointerPart(name: string): string {
  // Few names contain these characters, and testing is cheaper than replacing.
  if (!name.includes("~") && !name.includes("/")) return name;
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Decodes a step of a JSON pointer in a URL fragment. */
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
