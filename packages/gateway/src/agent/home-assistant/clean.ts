/** Which retained messages on a broker are Tendon's, to remove them. */
import { isObject, parseJson } from "@tendon/protocol";
import { root } from "./discovery.ts";

/** The filters to subscribe to, and whether a retained message belongs to Tendon. */
export function cleanTopics(prefix: string) {
  return {
    filters: [`${prefix}/device/+/config`, `${root}/#`],
    isOurs(topic: string, payload: Buffer): boolean {
      if (topic.startsWith(`${root}/`)) return true;
      if (!/\/device\/tendon_[^/]+\/config$/.test(topic)) return false;
      const message = parseJson(payload.toString());
      const origin = isObject(message) ? message["origin"] : undefined;
      return isObject(origin) && origin["name"] === "Tendon";
    },
  };
}
