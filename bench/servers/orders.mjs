/** Carries out the orders of the process that started this one, until it says stop or ends. */
export function takeOrders(orders) {
  process.on("message", (order) => {
    if (order === "stop") process.exit(0);
    void orders[order.what](order).then(
      (result) => process.send(result),
      (error) => process.send({ error: error.message }),
    );
  });
  process.on("disconnect", () => process.exit(0));
  process.send({ ready: {} });
}
