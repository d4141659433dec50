import type { Machine } from "./machine.ts";

const imageLimit = 16 * 1024 * 1024;

/** Whether a whole image came; what is in it does not matter to a device that is not there. */
export async function downloadImage({ http, alive }: Machine, url: string): Promise<boolean> {
  const outcome = await http.get(url, alive);
  if (outcome.kind === "unopened") return false;
  const announced = outcome.status === 200 && (outcome.contentLength ?? 0) > 0;
  if (announced && (await outcome.read(imageLimit)) !== undefined) return true;
  outcome.discard();
  return false;
}
