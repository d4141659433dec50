// The broker alone: accepts, takes one publish from each client, does nothing with it.
import net from "node:net";
import { Aedes } from "aedes";
import { reportTo } from "./report.mjs";

const broker = await Aedes.createBroker({ maxClientsIdLength: 256 });
const server = net.createServer(broker.handle);
server.listen(0, "127.0.0.1", () => reportTo(process, { endpoint: `127.0.0.1:${server.address().port}` }));
