/** Images with valid headers and filler data, because no test decodes them. */

export function jpeg(size = 200, width = 320, height = 240): Buffer {
  const head = Buffer.from(
    "ffd8ffe000104a46494600010100000100010000ffdb000400 00ffc0000b08".replace(" ", ""),
    "hex",
  );
  const frame = Buffer.alloc(9, 1);
  frame.writeUInt16BE(height, 0);
  frame.writeUInt16BE(width, 2);
  const scan = Buffer.from("ffda0008010100003f00", "hex");
  const end = Buffer.from("ffd9", "hex");
  const filler = Buffer.alloc(
    Math.max(0, size - head.length - frame.length - scan.length - end.length),
    0x5a,
  );
  return Buffer.concat([head, frame, scan, filler, end]);
}

export function png(size = 200, width = 64, height = 48): Buffer {
  const head = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
  const dimensions = Buffer.alloc(17, 0);
  dimensions.writeUInt32BE(width, 0);
  dimensions.writeUInt32BE(height, 4);
  return Buffer.concat([head, dimensions, Buffer.alloc(size - head.length - dimensions.length, 0x21)]);
}
