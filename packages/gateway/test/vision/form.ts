/** Multipart forms as the firmware streams them, and others. */
const boundary = "----ESP32_CAMERA_BOUNDARY";
export const formType = `multipart/form-data; boundary=${boundary}`;

export function questionHead(name = "question"): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`;
}

export function fileHead(filename = "camera.jpg", type = "image/jpeg", name = "file"): string {
  const disposition = `Content-Disposition: form-data; name="${name}"; filename="${filename}"`;
  return `--${boundary}\r\n${disposition}\r\nContent-Type: ${type}\r\n\r\n`;
}

export const formEnd = `--${boundary}--\r\n`;

const encoderBlock = 512;

/** [question head, question, line end], [file head, blocks of the encoder, line end], end: each in its own chunk. */
export function firmwareForm(question: string, picture: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = 0; at < picture.length; at += encoderBlock)
    blocks.push(picture.subarray(at, at + encoderBlock));
  return [
    Buffer.from(questionHead()),
    Buffer.from(question),
    Buffer.from("\r\n"),
    Buffer.from(fileHead()),
    ...blocks,
    Buffer.from("\r\n"),
    Buffer.from(formEnd),
  ];
}

/** One buffer from texts and bytes. */
export function joined(...parts: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
}
