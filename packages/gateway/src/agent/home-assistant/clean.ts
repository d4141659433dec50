/** Which retained messages on a broker are Tendon's, to remove them. */
import { parseJson } from "@tendon/protocol";
import { root } from "./discovery.ts";
import { isOfTendon, prefixTopic, readPrefix } from "./earlier-messages.ts";

/** The filters to subscribe to, and whether a retained message belongs to Tendon. */
export function cleanTopics(prefix: string) {
  return {
    filters: [`${prefix}/device/+/config`, `${root}/#`],
    isOurs,
    /** The filter of discovery messages below the prefix that the last run used. */
    moreFilters(topic: string, payload: Buffer): string[] {
      const old = topic === prefixTopic ? readPrefix(payload) : undefined;
      return old === undefined ? [] : [`${old}/device/+/config`];
    },
  };
}

export function isOurs(topic: string, payload: Buffer): boolean {
  if (topic.startsWith(`${root}/`)) return true;
  return /\/device\/tendon_[^/]+\/config$/.test(topic) && isOfTendon(parseJson(payload.toString()));
}
