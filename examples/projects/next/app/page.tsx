export default function Page() {
  return <p>POST an order to /orders</p>
}
