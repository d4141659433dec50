/**
 * A JPEG of the virtual screen, which is also what the camera sees: the board's name, its volume as a bar and its
 * state as text.
 */
import type { Screen } from "./board.ts";
import type { DeviceState } from "./device-state.ts";

/** Larger screens are scaled down, because the image shows the state, not the pixels. */
const longestSide = 640;
const shownKeys = ["volume", "brightness", "theme", "battery.level", "emotion", "preview.url"];

type Colour = readonly [red: number, green: number, blue: number];
const black: Colour = [0, 0, 0];
const white: Colour = [255, 255, 255];
const night: Colour = [16, 32, 48];
const fog: Colour = [244, 246, 248];
const teal: Colour = [42, 157, 143];

/** The encoder is loaded when the first picture is taken. */
export async function screenPicture(
  screen: Screen | undefined,
  title: string,
  state: DeviceState,
  quality: number,
): Promise<Buffer | undefined> {
  const { encode } = await import("jpeg-js");
  return encode(draw(screen, title, state), quality).data;
}

function draw(screen: Screen | undefined, title: string, state: DeviceState): Canvas {
  const { width, height, monochrome = false } = screen ?? { width: 320, height: 240 };
  const scale = Math.min(1, longestSide / Math.max(width, height));
  const dark = monochrome || state.get("theme") === "dark";
  const ink = dark ? white : night;
  const canvas = new Canvas(
    Math.max(1, Math.round(width * scale)),
    Math.max(1, Math.round(height * scale)),
    dark ? black : fog,
  );
  const line = Math.max(6, Math.round(canvas.height / 12));
  const volume = Math.min(100, Math.max(0, state.number("volume") ?? 0));
  canvas.write(title, line, line / 2, line, ink);
  const longest = canvas.width - 2 * line;
  canvas.fill(line, line * 2, longest * (volume / 100), line / 2, monochrome ? white : teal);
  const rows = shownKeys.filter((key) => state.get(key) !== undefined);
  for (const [index, key] of rows.entries())
    canvas.write(`${key} ${String(state.get(key))}`, line, line * (3 + index * 1.3), line, ink);
  return canvas;
}

class Canvas {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue and opacity of each pixel. */
  readonly data: Buffer;

  constructor(width: number, height: number, paper: Colour) {
    this.width = width;
    this.height = height;
    this.data = Buffer.alloc(width * height * 4, Buffer.from([...paper, 255]));
  }

  /** What lies outside is cut off. */
  fill(left: number, top: number, width: number, height: number, colour: Colour): void {
    const right = Math.min(this.width, Math.round(left + width));
    const bottom = Math.min(this.height, Math.round(top + height));
    for (let y = Math.round(top); y < bottom; y += 1)
      for (let x = Math.round(left); x < right; x += 1) this.data.set(colour, (y * this.width + x) * 4);
  }

  /** One line of text, about as high as `size`. */
  write(text: string, left: number, top: number, size: number, colour: Colour): void {
    const dot = Math.max(1, Math.round(size / 7));
    for (const [index, character] of [...text.toUpperCase()].entries()) {
      const x = left + index * 4 * dot;
      if (x >= this.width) return;
      for (const [row, dots] of [...(glyphs[character] ?? unknownGlyph)].entries())
        for (const column of [0, 1, 2])
          if (((Number(dots) >> (2 - column)) & 1) === 1)
            this.fill(x + column * dot, top + row * dot, dot, dot, colour);
    }
  }
}

const unknownGlyph = "75557";

/** Letters of three by five dots: a digit is a row, its three bits are the dots from left to right. */
const glyphs: Readonly<Record<string, string>> = {
  " ": "00000",
  "!": "22202",
  "#": "57575",
  "%": "51245",
  "&": "25253",
  "'": "22000",
  "(": "12221",
  ")": "42224",
  "+": "02720",
  ",": "00024",
  "-": "00700",
  ".": "00002",
  "/": "11244",
  ":": "02020",
  "=": "07070",
  "?": "61202",
  _: "00007",
  0: "75557",
  1: "26227",
  2: "61247",
  3: "61216",
  4: "55711",
  5: "74616",
  6: "34757",
  7: "71244",
  8: "75757",
  9: "75716",
  A: "25755",
  B: "65656",
  C: "34443",
  D: "65556",
  E: "74647",
  F: "74644",
  G: "34553",
  H: "55755",
  I: "72227",
  J: "11152",
  K: "55655",
  L: "44447",
  M: "57755",
  N: "65555",
  O: "25552",
  P: "65644",
  Q: "25563",
  R: "65655",
  S: "34216",
  T: "72222",
  U: "55557",
  V: "55552",
  W: "55775",
  X: "55255",
  Y: "55222",
  Z: "71247",
};
