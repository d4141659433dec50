import { type VoiceSession, VoiceSessionList } from "@tendon/protocol";
import { requireScope } from "../../access/access.ts";
import type { Registry } from "../../registry/registry.ts";
import type { Http } from "../http.ts";
import { failures } from "./route-parts.ts";

/** The conversations under way now, of all devices on all nodes. */
export type VoiceSessions = () => Promise<readonly Omit<VoiceSession, "alias">[]>;

export function voiceRoutes(http: Http, registry: Registry, sessions: VoiceSessions): void {
  http.get(
    "/voice/sessions",
    {
      schema: {
        summary: "Conversations between devices and their voice servers, in numbers",
        description: "Never what is said.",
        tags: ["voice"],
        response: { 200: VoiceSessionList, ...failures },
      },
    },
    async ({ principal }) => {
      requireScope(principal, "read");
      const seen = (await sessions()).filter(({ device }) => registry.visible(principal, device));
      return {
        sessions: seen.map((session) => ({
          ...session,
          alias: registry.device(principal, session.device).alias,
        })),
      };
    },
  );
}
