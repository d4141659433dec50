/** Formats file sizes. */
export function formatBytes(number: (value: number) => string, bytes: number): string {
  const kib = bytes / 1024;
  return kib < 1024 ? `${number(Math.ceil(kib))} KiB` : `${number(Math.round((kib / 1024) * 10) / 10)} MiB`;
}
