// The viewer ignores the query of the page's address, loads only from this host, and does not send API requests: those need a
// signature, and nobody should give a secret key to a web page.
SwaggerUIBundle({
  url: '/openapi.json',
  domNode: document.getElementById('reference'),
  layout: 'BaseLayout',
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  displayOperationId: true,
  queryConfigEnabled: false,
  showExtensions: false,
  supportedSubmitMethods: [],
  validatorUrl: null,
})
