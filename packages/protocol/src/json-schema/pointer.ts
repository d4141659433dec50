/** One step of a JSON pointer. */
export function pointerPart(name: string): string {
  // Hardly any name has them, and replacing costs more than looking.
  if (!name.includes("~") && !name.includes("/")) return name;
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
