import { HomeAssistantView } from "@tendon/protocol";
import { requireEveryDevice, requireScope } from "../../access/access.ts";
import { failures, type Http } from "../http/http.ts";

export function homeAssistantRoutes(http: Http, view: () => HomeAssistantView): void {
  http.get(
    "/home-assistant",
    {
      schema: {
        operationId: "readHomeAssistant",
        summary: "The connection to Home Assistant's broker, and what is published there",
        description: "Needs `admin` for all devices.",
        tags: ["home-assistant"],
        response: { 200: HomeAssistantView, ...failures },
      },
    },
    async (request) => {
      requireScope(request.principal, "admin");
      requireEveryDevice(request.principal, "the connection to Home Assistant");
      return view();
    },
  );
}
