import { until } from "../inbox.ts";
import type { RawDevice } from "../raw-device.ts";
import type { Site } from "../site.ts";

type Offer = Parameters<RawDevice["setUp"]>[0];

/** A device that was connected once. */
export async function awayDevice(site: Site, deviceId: string, offer: Offer): Promise<string> {
  const device = await site.join({ deviceId, ...offer });
  device.close();
  await until(async () => (await site.device(deviceId))["online"] === false, "the device is offline");
  return deviceId;
}

export async function backAgain(site: Site, deviceId: string, offer: Offer): Promise<RawDevice> {
  const device = await site.connect({ deviceId });
  await device.greet();
  await device.setUp(offer);
  return device;
}
