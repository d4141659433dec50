import { useQuery } from "@tanstack/react-query";

const quietZone = 2;

/** A QR code, always dark on white, because that is what cameras read. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  // The library is loaded with the first code.
  const { data } = useQuery({
    queryKey: ["qr", text],
    queryFn: async () => {
      const { encode } = await import("uqr");
      const { data: rows, size } = encode(text, { ecc: "M", border: quietZone });
      return { size, path: rows.map(lineOf).join("") };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (data === undefined) return <span className="block size-36 shrink-0 rounded-lg bg-raised" />;
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${data.size} ${data.size}`}
      shapeRendering="crispEdges"
      className="size-36 shrink-0 rounded-lg border border-line"
    >
      <rect width={data.size} height={data.size} fill="#ffffff" />
      <path d={data.path} fill="#000000" />
    </svg>
  );
}

/** The dark cells of a row, each run as one rectangle. */
function lineOf(row: readonly boolean[], y: number): string {
  let path = "";
  for (let x = 0; x < row.length; x += 1) {
    if (row[x] !== true) continue;
    const from = x;
    while (row[x + 1] === true) x += 1;
    path += `M${from} ${y}h${x - from + 1}v1H${from}z`;
  }
  return path;
}
