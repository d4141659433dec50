/** REST under /api/v1: the same registry as every other door, in requests and problem documents. */
import type { Events } from "../../events.ts";
import type { Credentials, Registry } from "../../registry/registry.ts";
import { authenticate, type IdentifyToken } from "../authentication.ts";
import type { Http } from "../http.ts";
import { callRoutes } from "./calls.ts";
import { deviceRoutes } from "./devices.ts";
import { eventRoutes } from "./events.ts";
import { fleetRoutes } from "./fleet.ts";
import { rpcRoutes } from "./rpc.ts";

export interface RestNeeds {
  readonly registry: Registry;
  readonly credentials: Credentials;
  readonly events: Events;
  readonly identify: IdentifyToken;
  readonly deviceUrl: () => string;
}

export async function restRoutes(http: Http, needs: RestNeeds): Promise<void> {
  await http.register(
    async (api) => {
      const routes = api as unknown as Http;
      routes.get("/openapi.json", { schema: { hide: true } }, () => http.swagger());
      await routes.register(async (signedIn) => {
        signedIn.addHook("onRequest", (request, _reply, next) => {
          request.principal = authenticate(request, needs.identify, needs.events);
          next();
        });
        const guarded = signedIn as unknown as Http;
        deviceRoutes(guarded, needs);
        callRoutes(guarded, needs.registry);
        fleetRoutes(guarded, needs.registry);
        rpcRoutes(guarded, needs.registry);
        eventRoutes(guarded, needs.events);
      });
    },
    { prefix: "/api/v1" },
  );
}
