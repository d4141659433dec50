/** Compares firmware versions as the firmware does: number by number, from the left. */

/** Numbers and dots only. Anything else may make the firmware's parser throw an exception, which it does not catch. */
const numbersAndDots = /^\d{1,5}(\.\d{1,5}){0,3}$/;

export function isFirmwareVersion(text: string): boolean {
  return numbersAndDots.test(text);
}

/** Whether a board that runs `running` would install `offered`. With an equal start, the longer version is newer. */
export function isNewerFirmware(offered: string, running: string): boolean {
  const [ours, theirs] = [numbersOf(offered), numbersOf(running)];
  for (const [index, number] of ours.entries()) {
    const other = theirs[index];
    if (other === undefined) return true;
    if (number !== other) return number > other;
  }
  return false;
}

function numbersOf(version: string): number[] {
  return version.split(".").map(Number);
}
