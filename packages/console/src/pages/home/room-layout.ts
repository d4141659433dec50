/** Positions of the rooms. The home knows only names: the five default rooms have fixed positions, others share the plan evenly. */
export interface Room {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** Fractions of the plan. People are drawn in the first room. */
const fiveRooms = [
  [0, 0, 0.46, 0.6],
  [0.46, 0, 0.54, 0.42],
  [0, 0.6, 0.46, 0.4],
  [0.46, 0.42, 0.24, 0.58],
  [0.7, 0.42, 0.3, 0.58],
] as const;

export function layOut(names: readonly string[], width: number, height: number): Room[] {
  if (names.length === fiveRooms.length) {
    return names.flatMap((name, at) => {
      const part = fiveRooms[at];
      if (part === undefined) return [];
      const [x, y, w, h] = part;
      return [{ name, x: x * width, y: y * height, w: w * width, h: h * height }];
    });
  }
  const rows = Math.max(1, Math.round(Math.sqrt(names.length / 1.5)));
  const perRow = Math.ceil(names.length / rows);
  return names.map((name, at) => {
    const row = Math.floor(at / perRow);
    const inRow = Math.min(perRow, names.length - row * perRow);
    const rowsInAll = Math.ceil(names.length / perRow);
    const h = height / rowsInAll;
    return { name, x: ((at % perRow) * width) / inRow, y: row * h, w: width / inRow, h };
  });
}
