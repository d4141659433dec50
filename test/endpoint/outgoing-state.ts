import { until } from "../inbox.ts";
import type { Fields } from "../raw-device.ts";
import type { Site } from "../site.ts";

/** The only outgoing endpoint, as `GET /endpoints` shows it, once it has this state. */
export async function inState(site: Site, state: string): Promise<Fields> {
  return await until(async () => {
    const { body } = await site.rest("GET", "/endpoints");
    const [found] = body["endpoints"] as Fields[];
    return found?.["state"] === state && found;
  }, `the state ${state}`);
}
