import { type VoiceSession, VoiceSessionList } from "@tendon/protocol";
import { requireScope } from "../../access/access.ts";
import { failures, type Http } from "../http/http.ts";
import type { Services } from "../services.ts";

/** The active conversations of all devices on all nodes. */
export type VoiceSessions = () => Promise<readonly Omit<VoiceSession, "alias">[]>;

export function voiceRoutes(http: Http, services: Services, sessions: VoiceSessions): void {
  http.get(
    "/voice/sessions",
    {
      schema: {
        operationId: "listVoiceSessions",
        summary: "Active conversations between devices and their voice servers",
        description: "Figures only, never the content of a conversation.",
        tags: ["voice"],
        response: { 200: VoiceSessionList, ...failures },
      },
    },
    async ({ principal }) => {
      requireScope(principal, "read");
      const seen = (await sessions()).filter(({ device }) => services.fleet.visible(principal, device));
      return {
        sessions: seen.map((session) => ({
          ...session,
          alias: services.fleet.device(principal, session.device).alias,
        })),
      };
    },
  );
}
