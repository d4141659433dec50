import type { Screen } from "./board.ts";
import type { DeviceState } from "./device-state.ts";

/** Larger screens are drawn smaller: the picture shows the state, not the pixels. */
const longestSide = 640;

/**
 * A JPEG of the virtual screen, which is also what the camera sees. The image library is loaded only when the
 * first picture is taken.
 */
export async function screenPicture(
  screen: Screen | undefined,
  title: string,
  state: DeviceState,
  quality: number,
): Promise<Buffer | undefined> {
  const { width, height, monochrome } = screen ?? { width: 320, height: 240 };
  const scale = Math.min(1, longestSide / Math.max(width, height));
  const size = {
    width: Math.max(1, Math.round(width * scale)),
    height: Math.max(1, Math.round(height * scale)),
  };
  const { default: sharp } = await import("sharp");
  const drawing = Buffer.from(svg(size.width, size.height, title, state, monochrome === true));
  const image = sharp(drawing, { limitInputPixels: longestSide * longestSide });
  return await image.jpeg({ quality }).toBuffer();
}

function svg(width: number, height: number, title: string, state: DeviceState, monochrome: boolean): string {
  const dark = monochrome || state.get("theme") === "dark";
  const ink = dark ? "#ffffff" : "#102030";
  const paper = dark ? "#000000" : "#f4f6f8";
  const bar = monochrome ? "#ffffff" : "#2a9d8f";
  const line = Math.max(6, Math.round(height / 12));
  const rows = ["volume", "brightness", "theme", "battery.level", "emotion", "preview.url"]
    .flatMap((key) => (state.get(key) === undefined ? [] : [`${key} ${String(state.get(key))}`]))
    .map(
      (text, index) =>
        `<text x="${line}" y="${line * (4 + index * 1.3)}">${escapeXml(text.slice(0, 60))}</text>`,
    );
  const volume = state.number("volume") ?? 0;
  const loud = Math.round((Math.min(100, Math.max(0, volume)) / 100) * (width - 2 * line));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">`,
    `<rect width="100%" height="100%" fill="${paper}"/>`,
    `<rect x="${line}" y="${line * 2}" width="${loud}" height="${line / 2}" fill="${bar}"/>`,
    `<g font-family="sans-serif" font-size="${line}" fill="${ink}">`,
    `<text x="${line}" y="${line * 1.5}">${escapeXml(title.slice(0, 60))}</text>`,
    ...rows,
    "</g></svg>",
  ].join("");
}

/** Control characters are not allowed in XML at all, so they are left out. */
function escapeXml(text: string): string {
  const allowed = [...text].filter((character) => (character.codePointAt(0) ?? 0) >= 0x20).join("");
  return allowed.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
